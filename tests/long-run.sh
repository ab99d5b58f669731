#!/usr/bin/env bash
# The same tests with large numbers: hours. Each prints its counts and the seed that repeats it. Arguments choose from the list: points storm ...
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never

# One new seed for whatever is drawn at random; give it again to repeat a run.
export SWARM_SEED="${SWARM_SEED:-$(date +%s)}"
export SWARM_IT_SEED="$SWARM_SEED" SWARM_TEST_SEED="$SWARM_SEED" PROPTEST_RNG_SEED="$SWARM_SEED"
echo "SWARM_SEED=$SWARM_SEED"

failed=()
part() { # part NAME COMMAND...: runs it unless other parts were asked for
  local name=$1
  shift
  if [ "${#wanted[@]}" -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then return; fi
  echo "== $name: $*"
  "$@" || failed+=("$name")
}
wanted=("$@")

part points env SWARM_POINTS_ROUNDS=200 cargo test --locked --test it crash_points:: -- --nocapture
part storm env SWARM_STORM_KILLS=500 cargo test --locked --test it kill_storm:: -- --nocapture
part hooks env SWARM_HOOK_STORM=1000 SWARM_HOOK_STORM_BYTES=1073741824 cargo test --locked --test it hook_storm:: -- --nocapture
part endurance env SWARM_ENDURANCE=50000 cargo test --locked --test it memory_and_descriptors:: -- --nocapture
part interrupts env SWARM_INTERRUPTS=500 cargo test --locked --test it interrupted_runs:: -- --nocapture --test-threads 1
part rollbacks env SWARM_ROLLBACK_KILLS=200 cargo test --locked --test it rollback_killed:: -- --nocapture
part moves env SWARM_MOVE_KILLS=60 cargo test --locked --test it moves:: -- --nocapture
part operations env SWARM_ROLLBACK_SEQUENCES=20 cargo test --locked --test it rollback_model:: -- --nocapture
part tools env SWARM_IT_INCREMENTS=100 cargo test --locked --test it mcp::many_servers -- --nocapture
part syscalls env SWARM_SYSCALLS=all cargo test --locked --test it harm_at -- --nocapture
part cleaners env SWARM_CLEANERS=200 cargo test --locked --test it storm::tools -- --nocapture
part agents cargo test --locked --test agents -- --ignored --nocapture --test-threads 1
part formats env -u SWARM_TURN cargo test --locked --test git --test it formats:: -- --nocapture
part journal env SWARM_EXHAUSTIVE=1 SWARM_SECTOR_CASES=1000000 cargo test --locked --lib journal:: -- --nocapture
part domain env SWARM_SEQUENCES=200000 cargo test --locked --lib domain::tests::properties -- --nocapture
part actor env SWARM_ACTOR_SEQUENCES=200000 cargo test --locked --lib daemon::tests::lives -- --nocapture
part benches env BENCH_SMOKE=1 cargo test --locked --benches
part fuzz fuzz/run.sh 60
part mutations tests/mutations/run.sh

if [ "${#failed[@]}" -gt 0 ]; then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
echo "all passed"
