#!/usr/bin/env bash
# Builds a wheel from the program that the tests have built already, installs it where there is no
# cargo, and runs the demo from there. A wheel to publish is built with `maturin build --release`.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=target/packaging-tools
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

[ -x "$tools/bin/maturin" ] || {
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
}
"$tools/bin/maturin" build --quiet --profile dev --locked --compatibility linux --out "$place"

python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$place"/*.whl

run() { # run COMMAND...: in an empty environment
  env -i PATH="$place/venv/bin:/usr/bin:/bin" HOME="$place" TMPDIR="$place" LC_ALL=C.UTF-8 "$@"
}
if run sh -c 'command -v cargo'; then
  echo "wheel: cargo is on the PATH of the installed program" >&2
  exit 1
fi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
[ "$(run swarm --version)" = "swarm $version" ]
run swarm demo --fast | grep -q '^8 landed, '
echo "wheel: ok"
