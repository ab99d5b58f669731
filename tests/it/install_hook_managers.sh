#!/usr/bin/env bash
# Installs husky, lefthook and pre-commit, by exact versions, into a folder: once for each set of
# versions. Prints the folder that has the three programs.
#
#   tests/it/install_hook_managers.sh DIR
set -euo pipefail

packages=(husky@9.1.7 lefthook@2.2.2)
python_packages=(pre-commit==4.7.0)

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
for program in npm python3; do
  if ! command -v $program >/dev/null 2>&1; then
    echo "$0: $program is missing; on Debian: apt-get install $program" >&2
    exit 1
  fi
done
mkdir -p "$1"
set_of_versions=$(printf '%s\n' "${packages[@]}" "${python_packages[@]}" | cksum | cut -d ' ' -f 1)
dir="$(cd "$1" && pwd)/hook-managers-$set_of_versions"
# Several tests may come at once.
exec 9>"$dir.lock"
flock 9
if [ ! -e "$dir/complete" ]; then
  rm -rf "$dir"
  mkdir -p "$dir/bin"
  # In a folder with a package.json of its own npm never takes a parent's.
  echo '{"private": true}' >"$dir/package.json"
  npm install --prefix "$dir" --save-exact --no-audit --no-fund --ignore-scripts --loglevel=error \
    "${packages[@]}" >&2
  python3 -m venv "$dir/venv" >&2
  "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}" >&2
  for program in husky lefthook; do
    ln -s "../node_modules/.bin/$program" "$dir/bin/$program"
  done
  ln -s ../venv/bin/pre-commit "$dir/bin/pre-commit"
  touch "$dir/complete"
fi
echo "$dir/bin"
