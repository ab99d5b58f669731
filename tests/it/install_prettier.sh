#!/usr/bin/env bash
# Installs prettier and the linters of Markdown, by exact versions, into a folder: once for each set
# of versions. Prints the path of prettier; the others lie beside it.
#
#   tests/it/install_prettier.sh DIR
set -euo pipefail

packages=(
  prettier@3.10.1
  remark-cli@12.0.1
  remark-preset-lint-recommended@7.0.1
  remark-preset-lint-consistent@6.0.1
  remark-preset-lint-markdown-style-guide@6.0.1
  remark-preset-wooorm@11.0.0
  markdownlint-cli2@0.22.1
)

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
if ! command -v npm >/dev/null 2>&1; then
  echo "$0: npm is missing; on Debian: apt-get install npm" >&2
  exit 1
fi
mkdir -p "$1"
set_of_versions=$(printf '%s\n' "${packages[@]}" | cksum | cut -d ' ' -f 1)
dir="$(cd "$1" && pwd)/prettier-$set_of_versions"
# Several tests may come at once.
exec 9>"$dir.lock"
flock 9
if [ ! -e "$dir/complete" ]; then
  rm -rf "$dir"
  mkdir -p "$dir"
  # In a folder with a package.json of its own npm never takes a parent's.
  echo '{"private": true}' >"$dir/package.json"
  npm install --prefix "$dir" --save-exact --no-audit --no-fund --ignore-scripts --loglevel=error \
    "${packages[@]}" >&2
  touch "$dir/complete"
fi
echo "$dir/node_modules/.bin/prettier"
