#!/usr/bin/env bash
# Collects what agents find out in a file that is read by people and kept in git, one line each.
#
# Hooks:     on-learning
# Variables: SWARM_LEARNING_ID, SWARM_SCOPE (local, global), SWARM_CONTENT, SWARM_REPO
# Needs:     nothing but the usual tools (awk, tail, tr).
# Twice:     a learning that is in the file already is not added again.
# Note:      the file changes in your own checkout; commit it when you like. swarm never touches your uncommitted work.
set -euo pipefail

file="${SWARM_REPO:-$PWD}/docs/learnings.md"
id=${SWARM_LEARNING_ID:?learnings-append: run this as the hook on-learning}

if [ "${SWARM_SCOPE:-}" != global ]; then
  exit 0 # what concerns one agent alone is not for everyone
fi
# One line, without control characters: the text comes from an agent.
content=$(printf '%s' "${SWARM_CONTENT:-}" | LC_ALL=C tr '\n\t' '  ' | LC_ALL=C tr -d '\000-\037\177')
[ -n "$content" ] || { echo "learnings-append: $id has no text; nothing was added" >&2; exit 0; }

mkdir -p -- "$(dirname -- "$file")"
# Made only where there is none, also when two hooks run at the same moment.
(set -o noclobber && printf '# Learnings\n\n' >"$file") 2>/dev/null || [ -f "$file" ]
mark="<!-- $id -->"
if awk -v mark="$mark" 'substr($0, length($0) - length(mark) + 1) == mark { found = 1 } END { exit !found }' "$file"; then
  exit 0
fi
# A line that an interrupted write left open is ended first. One write to the end of the file: several hooks may append at once.
line="- $content $mark"
[ -z "$(tail -c 1 -- "$file")" ] || line=$'\n'$line
printf '%s\n' "$line" >>"$file"
