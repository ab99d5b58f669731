//! What an agent read, and what it is told when somebody else changes that.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::harness::Sandbox;

/// A made-up `claude`. In its first run it reads some files, changes one of them and ends; in the
/// next ones it only ends. Each run keeps its prompt. With settings it asks the hook in them about
/// some calls, and keeps the answers.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in *--version*) echo '99.1.2 (Claude Code)'; exit ;; esac
while [ $# -gt 0 ]; do
    case $1 in --session-id|--resume) session=$2 ;; --settings) settings=$2 ;; esac
    shift
done
run=$(ls "$OUT" | grep -c prompt-)
cat >"$OUT/prompt-$run"
usage='{"input_tokens":20,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":7}'
say() {
    printf '{"type":"assistant","message":{"id":"%s","role":"assistant","model":"claude-test","content":[%s],"usage":%s},"parent_tool_use_id":null,"session_id":"%s"}\n' "$1" "$2" "$usage" $session
}
printf '{"type":"system","subtype":"init","session_id":"%s","model":"claude-test"}\n' $session
if [ $run = 0 ]; then
    say m1 '{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"'$PWD'/README.md"}}'
    say m2 '{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"cat docs/guide.md own.txt | head"}}'
    say m3 '{"type":"tool_use","id":"t3","name":"Read","input":{"file_path":"'$PWD'/quiet.txt"}}'
    say m4 '{"type":"tool_use","id":"t4","name":"Read","input":{"file_path":"/etc/hostname"}}'
    echo mine >>own.txt
    git add -A && git commit -qm "Change what is mine"
fi
if [ -n "$settings" ]; then
    hook=$(sed 's/.*"command":"\([^"]*\)".*/\1/' "$settings")
    ask() {
        input='"hook_event_name":"%s","tool_name":"%s","cwd":"%s","tool_input":{"file_path":"%s"}'
        printf "{$input}" $1 $2 "$PWD" "$3" | sh -c "$hook" 2>>"$OUT/hook-$run"
        echo "$2 ${3##*/}: $?" >>"$OUT/hook-$run"
    }
    ask PreToolUse Edit "$PWD/README.md"
    ask PreToolUse Write docs/guide.md
    ask PreToolUse Edit own.txt
    ask PostToolUse Read "$PWD/README.md"
    ask PreToolUse Edit README.md
    ask PreToolUse Write docs/guide.md
fi
say m9 '{"type":"text","text":"Done. \n<swarm>COMPLETE</swarm>"}'
printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"%s","total_cost_usd":0.1,"usage":%s}\n' $session "$usage"
"#;

/// Rewrites files and fails the first time.
const CHECK: &str = "test -e \"$OUT/checked\" || { touch \"$OUT/checked\"; for file in README.md \
    docs/guide.md unread.txt; do echo more >>$file; done; exit 1; }";

/// SHA-256 of `first` and a line end.
const FIRST: &str = "b640e840b19d378660b32fb51ae18d67dccb4a8596a29e7bd72c1b2ae5928f41";

fn prepare() -> Sandbox {
    let sandbox = made_up();
    configure(&sandbox, "tell", &[]);
    sandbox
}

/// A sandbox with the made-up program, whose environment is not configured yet.
fn made_up() -> Sandbox {
    let sandbox = Sandbox::new();
    for file in ["docs/guide.md", "own.txt", "quiet.txt", "unread.txt"] {
        sandbox.write(file, "first\n");
    }
    sandbox.commit("Add files");
    sandbox.set_up();
    let program = sandbox.path("claude");
    fs::write(&program, CLAUDE).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    sandbox
}

/// Configures the made-up program, with these arguments and this guard.
fn configure(sandbox: &Sandbox, guard: &str, args: &[&str]) {
    let out = sandbox.path("out");
    let profile = json!({"adapter": "claude", "command": [sandbox.path("claude")], "args": args,
        "env": {"OUT": out, "ANTHROPIC_API_KEY": "k"}});
    let check = CHECK.replace("$OUT", &out.to_string_lossy());
    sandbox.configure(&json!({
        "agents": {"profile": "cl", "profiles": {"cl": profile}, "readGuard": guard},
        "qualityCommands": [check],
    }));
}

fn prompt(sandbox: &Sandbox, run: u32) -> String {
    fs::read_to_string(sandbox.path(&format!("out/prompt-{run}"))).unwrap()
}

#[test]
fn an_agent_is_told_which_files_changed_since_it_read_them() {
    let sandbox = prepare();
    let id = sandbox.idea("Change it");
    sandbox.run_until_idle();
    assert_eq!(sandbox.idea_status(&id), "done", "{}", sandbox.show(&id));
    let heading = "## Files that changed since you read them";
    assert!(!prompt(&sandbox, 0).contains(heading));
    let told = prompt(&sandbox, 1);
    let (_, section) = told.split_once(heading).unwrap_or_else(|| panic!("{told}"));
    let section = section.split("\n## ").next().unwrap();
    let files: Vec<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("- "))
        .collect();
    // It changed one itself, nobody changed another, and it never read the last.
    assert_eq!(files, ["`README.md`", "`docs/guide.md`"]);
}

/// What the hook answered in a run; empty if there was none.
fn answers(sandbox: &Sandbox, run: u32) -> String {
    fs::read_to_string(sandbox.path(&format!("out/hook-{run}"))).unwrap_or_default()
}

#[test]
fn a_guarded_agent_must_read_a_told_file_again_before_it_changes_it() {
    let sandbox = made_up();
    configure(&sandbox, "block", &[]);
    let id = sandbox.idea("Change it");
    sandbox.run_until_idle();
    assert_eq!(sandbox.idea_status(&id), "done", "{}", sandbox.show(&id));
    assert_eq!(answers(&sandbox, 0), "");
    let refused = |file: &str| {
        format!(
            "{file} was changed by somebody else since you read it. Read it again, then repeat \
            your edit.\n"
        )
    };
    let expected = [
        refused("README.md"),
        "Edit README.md: 2\n".to_owned(),
        refused("docs/guide.md"),
        "Write guide.md: 2\nEdit own.txt: 0\nRead README.md: 0\nEdit README.md: 0\n".to_owned(),
        refused("docs/guide.md"),
        "Write guide.md: 2\n".to_owned(),
    ];
    assert_eq!(answers(&sandbox, 1), expected.concat());
}

#[test]
fn an_agent_is_only_told_unless_the_guard_is_configured() {
    let sandbox = prepare();
    sandbox.idea("Change it");
    sandbox.run_until_idle();
    assert!(prompt(&sandbox, 1).contains("README.md"));
    assert_eq!(answers(&sandbox, 1), "");
}

#[test]
fn doctor_names_a_profile_whose_own_settings_keep_the_guard_out() {
    let sandbox = made_up();
    let line = "agents.readGuard does not block agents of profile `cl`";
    for (guard, args, is_named) in [
        ("block", &["--settings", "{}"][..], true),
        ("block", &["--safe-mode"], true),
        ("block", &[], false),
        ("tell", &["--settings", "{}"], false),
    ] {
        configure(&sandbox, guard, args);
        let ran = sandbox.swarm(&["doctor"]);
        assert_eq!(
            ran.stdout.contains(line),
            is_named,
            "{guard} {args:?}: {ran}"
        );
    }
}

#[test]
fn a_record_names_the_files_that_were_read_as_they_were_before() {
    let sandbox = prepare();
    let daemon = sandbox.start();
    sandbox.idea("Change it");
    sandbox.wait_for("the records", || {
        let listed = sandbox.swarm(&["provenance", "list", "--json"]).json();
        (listed.as_array().unwrap().len() == 2).then_some(())
    });
    daemon.stop();
    let listed = sandbox.swarm(&["provenance", "list", "--json"]).json();
    let mut records = listed.as_array().unwrap().iter();
    let first = records.find(|record| record["iteration"] == 1).unwrap();
    let run = first["run"].as_str().unwrap();
    let record = sandbox.swarm(&["provenance", "show", run, "--json"]).json();
    let read = record["inputs"]["filesRead"].as_array().unwrap();
    let paths: Vec<&str> = read
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        ["README.md", "docs/guide.md", "own.txt", "quiet.txt"]
    );
    assert_eq!(
        read[2],
        json!({"path": "own.txt", "sha256": FIRST, "size": 6})
    );
}
