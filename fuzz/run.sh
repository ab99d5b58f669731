#!/bin/sh
# Fuzzes every target, or those named, for SECONDS each: fuzz/run.sh SECONDS [TARGET...]
#
# What is found new goes to fuzz/fresh/<target>, never into the corpus that is kept; `fuzz/run.sh minimise` brings its gist there.
# An input that breaks a promise is left in fuzz/artifacts/<target>: mend the program, then keep the input in the corpus.
set -eu
cd "$(dirname "$0")/.."

targets=$(ls fuzz/corpus)
usage() {
    echo "usage: fuzz/run.sh SECONDS [TARGET...]   or: fuzz/run.sh minimise [TARGET...]" >&2
    echo "targets: $(echo $targets)" >&2
    exit 2
}
[ $# -ge 1 ] || usage
what=$1
shift
[ $# -eq 0 ] || targets=$*
case $what in
    minimise) ;;
    '' | *[!0-9]*) usage ;;
esac
for target in $targets; do
    [ -d "fuzz/corpus/$target" ] || usage
done

if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "cargo-fuzz is missing; install it: cargo install cargo-fuzz" >&2
    exit 1
fi
if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "a nightly toolchain is missing, and libFuzzer's sanitizers need one: rustup toolchain install nightly" >&2
    exit 1
fi

failed=
for target in $targets; do
    mkdir -p "fuzz/fresh/$target"
    if [ "$what" = minimise ]; then
        # Inputs that add coverage, small ones only: a few KiB for each target are kept in the tree.
        cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/fresh/$target" -- -merge=1 -max_len=512
        continue
    fi
    echo "== $target: $what s"
    cargo +nightly fuzz run "$target" "fuzz/fresh/$target" "fuzz/corpus/$target" -- \
        -max_total_time="$what" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 ||
        failed="$failed $target"
done
if [ -n "$failed" ]; then
    echo "broken promises in:$failed; the inputs are in fuzz/artifacts" >&2
    exit 1
fi
