#!/usr/bin/env bash
# Builds the Debian package from a release build: target/debian/*.deb. It needs cargo-deb 3
# (`cargo install cargo-deb`); what the package contains is said in Cargo.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked
pages=target/packaging
rm -rf "$pages"
target/release/swarm man "$pages/man"
mkdir -p "$pages/completions"
for shell in bash zsh fish; do
  target/release/swarm completions "$shell" >"$pages/completions/$shell"
done
cargo deb --no-build --locked
