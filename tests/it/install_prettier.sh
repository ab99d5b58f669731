#!/usr/bin/env bash
# Installs prettier, which formats files, by exact version into a folder: once for each version. Prints its path.
#
#   tests/it/install_prettier.sh DIR
set -euo pipefail

prettier=3.10.1

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
if ! command -v npm >/dev/null 2>&1; then
  echo "$0: npm is missing; on Debian: apt-get install npm" >&2
  exit 1
fi
mkdir -p "$1"
dir="$(cd "$1" && pwd)/prettier-$prettier"
# Several tests may come at once.
exec 9>"$dir.lock"
flock 9
if [ ! -e "$dir/complete" ]; then
  rm -rf "$dir"
  mkdir -p "$dir"
  # In a folder with a package.json of its own npm never takes a parent's.
  echo '{"private": true}' >"$dir/package.json"
  npm install --prefix "$dir" --save-exact --no-audit --no-fund --ignore-scripts --loglevel=error "prettier@$prettier" >&2
  touch "$dir/complete"
fi
echo "$dir/node_modules/.bin/prettier"
