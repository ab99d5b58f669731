#!/usr/bin/env bash
# Deploys what has just landed, once for each landing.
#
# Hooks:     post-merge
# Variables: SWARM_COMMIT_HASH, SWARM_TARGET, SWARM_IDEA_ID, SWARM_EVENT_SEQ, SWARM_REPO
# Needs:     git, and the command below. A deployment longer than 30 s needs its time in config.json:
#              "post-merge": { "run": ".swarm/hooks/deploy-after-merge.sh", "timeoutSeconds": 600 }
# Twice:     after a crash the hook may run again for a landing. What was deployed, or overtaken by a later landing, is skipped;
#            what was interrupted runs again, so the command itself must bear being repeated. Two landings close together may
#            deploy at the same time: let the command take a lock where that matters.
set -euo pipefail

# Only this branch is deployed, by this command; it gets the commit as its last argument. Change both to yours.
branch=main
deploy=(sh ./scripts/deploy.sh)

commit=${SWARM_COMMIT_HASH:?deploy-after-merge: run this as the hook post-merge}
seq=${SWARM_EVENT_SEQ:-0}
cd "${SWARM_REPO:-$PWD}"
if [ "${SWARM_TARGET:-}" != "$branch" ]; then
  echo "deploy-after-merge: ${SWARM_TARGET:-?} is not $branch; nothing to deploy"
  exit 0
fi
command -v git >/dev/null 2>&1 || { echo "deploy-after-merge: git is not installed; nothing was deployed" >&2; exit 1; }

done_file="$(git rev-parse --git-common-dir)/swarm-deployed"
last=0
[ ! -f "$done_file" ] || read -r last _ <"$done_file" || true
if [ "$last" -ge "$seq" ] && [ "$seq" -gt 0 ]; then
  echo "deploy-after-merge: $commit was deployed already, or a later landing was"
  exit 0
fi

echo "deploy-after-merge: ${deploy[*]} $commit (${SWARM_IDEA_ID:-?})"
"${deploy[@]}" "$commit"

# Renamed into place, so that an interrupted write cannot pass for a finished deployment.
printf '%s %s\n' "$seq" "$commit" >"$done_file.new.$$"
mv -f -- "$done_file.new.$$" "$done_file"
