#!/usr/bin/env bash
# Plants faults, one at a time, in a copy of the tree, and runs the test that must catch each: tests/mutations/run.sh [NAME...]
#
# Fails when a test passes in spite of its fault, when a fault does not build (then nothing was shown), or when a test fails without any.
# SWARM_MUTATIONS_DIR names a folder to keep the copy and its build in, for the next time; without it both go at the end.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
limit=${SWARM_MUTATIONS_LIMIT:-900} # seconds for one build or test
export CARGO_TERM_COLOR=never CARGO_PROFILE_DEV_DEBUG=0 RUST_BACKTRACE=0 SWARM_IT_SEED="${SWARM_IT_SEED:-7}"

dir=${SWARM_MUTATIONS_DIR:-}
if [ -z "$dir" ]; then
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
fi
tree=$dir/tree
export CARGO_TARGET_DIR=$dir/target GIT_CEILING_DIRECTORIES=$dir
rm -rf "$tree"
mkdir -p "$tree"
# With new dates: what was built of a faulty copy must not count as up to date.
tar -C "$root" --exclude=./target --exclude=./.git --exclude=./fuzz/target -cf - . | tar -C "$tree" -xmf -
cd "$tree"

if [ $# -gt 0 ]; then
  names=("$@")
else
  mapfile -t names < <(cd "$here" && printf '%s\n' *.patch | sed 's/\.patch$//')
fi

test_of() { sed -n 's/^Caught by: cargo test //p' "$here/$1.patch"; }
# Each word is an argument: a target and the beginning of a test's name.
build() { timeout "$limit" cargo test --quiet $1 --no-run >"$dir/log" 2>&1; }
run() { timeout "$limit" cargo test $1 >"$dir/log" 2>&1; }
ran_some() { grep -Eq '^test result: .* [1-9][0-9]* (passed|failed)|[1-9][0-9]* failed' "$dir/log"; }

failed=0
say() { printf '%-34s %-11s %4s s  %s\n' "$1" "$2" "$3" "$4"; }
wrong() {
  say "$@"
  tail -n 15 "$dir/log" >&2
  failed=1
}

say FAULT OUTCOME '' TEST
declare -A sound
for name in "${names[@]}"; do
  test=$(test_of "$name")
  [ -n "${sound[$test]:-}" ] && continue
  if ! run "$test" || ! ran_some; then
    wrong - "UNSOUND" 0 "$test: without any fault it fails, or there is no such test"
    exit 1
  fi
  sound[$test]=1
done
for name in "${names[@]}"; do
  test=$(test_of "$name")
  git apply "$here/$name.patch"
  if ! build "$test"; then
    wrong "$name" "NOT BUILT" 0 "$test"
  else
    began=$SECONDS
    if run "$test"; then
      wrong "$name" "NOT CAUGHT" $((SECONDS - began)) "$test"
    elif ! ran_some; then
      wrong "$name" "NOT RUN" $((SECONDS - began)) "$test"
    else
      say "$name" caught $((SECONDS - began)) "$test"
    fi
  fi
  git apply -R "$here/$name.patch"
done
exit $failed
