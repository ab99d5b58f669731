# What the hidden parts of a page may use: sourced before each of them.

# play TITLE <<'END' ... END: what the stand-in for Claude Code does for the idea whose text holds TITLE.
play() {
  mkdir -p "$HOME/.plays"
  file="$HOME/.plays/$(ls "$HOME/.plays" | wc -l).sh"
  { echo "# $1"; cat; } >"$file"
}

# until_true COMMAND...: waits up to twenty seconds for something that swarm does by itself.
until_true() {
  for _ in $(seq 200); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "this did not come true: $*" >&2
  return 1
}
