#!/usr/bin/env bash
# Installs the agents' programs that tests/agents runs, by exact version, into a folder: once for each version. Its programs are in
# DIR/VERSIONS/node_modules/.bin, whose path is printed.
#
#   tests/agents/install.sh DIR [more]     with `more` also those of the long run
#   tests/agents/install.sh DIR mcp        a client of the Model Context Protocol, and a memory server beside which ours is measured
set -euo pipefail

claude=2.1.329
codex=0.169.0
gemini=0.61.0
opencode=1.18.33
inspector=2.12.0
server_memory=2026.8.31

[ $# -ge 1 ] || { echo "usage: $0 DIR [more | mcp]" >&2; exit 2; }
programs=(claude codex)
packages=("@anthropic-ai/claude-code@$claude" "@openai/codex@$codex")
name="claude-$claude-codex-$codex"
if [ "${2:-}" = more ]; then
  programs+=(gemini opencode)
  packages+=("@google/gemini-cli@$gemini" "opencode-ai@$opencode")
  name="$name-gemini-$gemini-opencode-$opencode"
elif [ "${2:-}" = mcp ]; then
  # They have no `--version` to try.
  programs=()
  packages=("@modelcontextprotocol/inspector@$inspector" "@modelcontextprotocol/server-memory@$server_memory")
  name="inspector-$inspector-server-memory-$server_memory"
fi

if ! command -v npm >/dev/null 2>&1; then
  echo "$0: npm is missing; on Debian: apt-get install npm" >&2
  exit 1
fi
mkdir -p "$1"
dir="$(cd "$1" && pwd)/$name"
# Several tests may come at once.
exec 9>"$dir.lock"
flock 9
if [ ! -e "$dir/complete" ]; then
  rm -rf "$dir"
  mkdir -p "$dir"
  # In a folder with a package.json of its own npm never takes a parent's. Their own install scripts put the programs into place; where
  # npm was told to run none, they are run here.
  echo '{"private": true}' >"$dir/package.json"
  npm install --prefix "$dir" --save-exact --no-audit --no-fund --loglevel=error "${packages[@]}" >&2
  for script in @anthropic-ai/claude-code/install.cjs opencode-ai/postinstall.mjs; do
    [ ! -e "$dir/node_modules/$script" ] || (cd "$dir/node_modules/$(dirname "$script")" && node "$(basename "$script")" >&2)
  done
  for program in "${programs[@]}"; do
    HOME="$dir" "$dir/node_modules/.bin/$program" --version >&2
  done
  touch "$dir/complete"
fi
echo "$dir/node_modules/.bin"
