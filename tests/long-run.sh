#!/usr/bin/env bash
# The tests that draw at random, with the numbers of a long run. Each prints its counts and its seed; SWARM_IT_SEED repeats one.
# Usage: tests/long-run.sh [NAME...]   runs all lines of the list, or those of these names.
set -uo pipefail
cd "$(dirname "$0")/.."

# name | variables | arguments of `cargo test`
list='
points | SWARM_POINTS_ROUNDS=200              | --test it every_point_is_reached_and_survived
storm  | SWARM_STORM_KILLS=50                 | --test it twenty_agents_live_through_kills
'

failed=()
while IFS='|' read -r name variables arguments; do
  name=${name// /}
  [ -n "$name" ] || continue
  if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qxF -- "$name"; then continue; fi
  echo "== $name:$variables"
  # shellcheck disable=SC2086 # words are meant to be split
  env $variables cargo test --locked --quiet $arguments -- --nocapture --test-threads=1 </dev/null || failed+=("$name")
done <<<"$list"
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
