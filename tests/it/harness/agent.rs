//! The scripted agent: a POSIX shell script that does what the idea's text says.
//!
//! A line `DO: ...` of the prompt is shell code; `RESOLVE: ...` is what it does instead where it
//! finds a conflict in its worktree.

/// The script. `$OUT` is the sandbox's folder for traces.
pub const SCRIPT: &str = r#"#!/bin/sh
set -u

# A line for each run, so that tests can count what was really started.
echo "$SWARM_IDEA_ID $SWARM_AGENT $SWARM_ATTEMPT $SWARM_ITERATION $SWARM_RUN_ID $$" >>"$OUT/runs"

begun=$(git rev-parse HEAD 2>/dev/null)

# write FILE TEXT, append FILE TEXT
write() { _write ">" "$@"; }
append() { _write ">>" "$@"; }
_write() {
    how=$1 file=$2
    shift 2
    case $file in */*) mkdir -p "${file%/*}" ;; esac
    if [ "$how" = ">" ]; then printf '%s\n' "$*" >"$file"; else printf '%s\n' "$*" >>"$file"; fi
}

# commit [MESSAGE]
commit() { git add -A && git commit -q -m "${*:-Work}"; }

# say COMPLETE, say BLOCKED:why. Whoever is done has changed something.
say() {
    case $1 in COMPLETE*) changed || write "did.$SWARM_IDEA_ID" "$SWARM_RUN_ID" ;; esac
    printf '<swarm>%s</swarm>\n' "$*"
}

# whether the worktree has work of its own, or none can be looked for
changed() {
    left=$(git --no-optional-locks -c core.fsmonitor=false status --porcelain 2>&1) || return 0
    own=$(git log -1 --format=%h HEAD --not --exclude='agent/*' --branches 2>&1) || return 0
    # A replay makes the very commit that has landed.
    [ -n "$left$own" ] || [ "$(git rev-parse HEAD)" != "$begun" ]
}

# note NAME [TEXT]: a trace outside of the repository
note() {
    name=$1
    shift
    echo "$SWARM_IDEA_ID${*:+ $*}" >>"$OUT/$name"
}

# hold NAME: waits until the test lets it go on
hold() {
    : >"$OUT/$1.here"
    while [ ! -e "$OUT/$1.go" ]; do sleep 0.05; done
}

attempt() { [ "$SWARM_ATTEMPT" -eq "$1" ]; }
iteration() { [ "$SWARM_ITERATION" -eq "$1" ]; }

key=DO
[ -z "$(git -c core.fsmonitor=false ls-files -u)" ] || key=RESOLVE
eval "$(sed -n "s/^$key: //p" "$SWARM_PROMPT_FILE")"
"#;
