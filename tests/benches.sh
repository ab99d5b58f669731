#!/usr/bin/env bash
# Prints the arguments of cargo for the benches whose turn it is, one on each line: `benches.sh 7`.
# Three turns in a row have all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
sed -n '/^\[\[bench\]\]/{n;s/^name = "\(.*\)"$/\1/p}' Cargo.toml |
  awk -v turn="$(($1 % 3))" 'NR % 3 == turn { print "--bench"; print $0 }'
