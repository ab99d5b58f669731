#!/usr/bin/env bash
# Runs a slow test suite on the merged tree before it lands; its failure holds the merge.
#
# Hooks:     pre-merge
# Variables: SWARM_COMMIT_HASH (the merged commit), SWARM_IDEA_ID, SWARM_TARGET, SWARM_REPO
# Needs:     git, tar, and the command below. Give it time in config.json, and decide what running out of it means:
#              "pre-merge": { "run": ".swarm/hooks/e2e-before-merge.sh", "timeoutSeconds": 900, "onTimeout": "veto" }
# Twice:     harmless, it works in a directory of its own that it removes.
set -euo pipefail

# What to run, in a clean copy of the merged tree (without .git). Change it to your suite.
suite=(sh ./scripts/e2e.sh)

commit=${SWARM_COMMIT_HASH:?e2e-before-merge: run this as the hook pre-merge}
repo=${SWARM_REPO:-$PWD}
for tool in git tar; do
  command -v "$tool" >/dev/null 2>&1 || { echo "e2e-before-merge: $tool is not installed; the merge is held" >&2; exit 1; }
done

tree=$(mktemp -d "${TMPDIR:-/tmp}/swarm-e2e.XXXXXX")
trap 'rm -rf -- "$tree"' EXIT
git -C "$repo" archive --format=tar "$commit" | tar -xf - -C "$tree"

cd "$tree"
echo "e2e-before-merge: ${suite[*]} on $commit (${SWARM_IDEA_ID:-?} for ${SWARM_TARGET:-?})"
"${suite[@]}"
