#!/usr/bin/env bash
# Shows a desktop notification.
#
# Hooks:     on-needs-you, on-pause, on-error, on-conflict, post-merge, post-complete
# Variables: SWARM_HOOK, SWARM_REPO, and those of the hook: SWARM_REASON | SWARM_ERROR_TYPE SWARM_MESSAGE |
#            SWARM_KIND SWARM_MESSAGE SWARM_COMMANDS | SWARM_LEVEL SWARM_FILES | SWARM_TARGET SWARM_COMMIT_HASH | SWARM_STATUS SWARM_DURATION; SWARM_IDEA_ID
# Needs:     notify-send (Linux) or osascript (macOS); without one of them it says so and succeeds.
# Twice:     harmless, the notification is shown again.
set -euo pipefail

idea=${SWARM_IDEA_ID:-}
case "${SWARM_HOOK:-}" in
  on-needs-you)
    if [ "${SWARM_KIND:-}" = ended ]; then title="swarm is done"; else title="swarm needs you: ${SWARM_KIND:-} ${idea}"; fi
    text=${SWARM_MESSAGE:-}
    ;;
  on-pause) title="swarm is paused" text=${SWARM_REASON:-} ;;
  on-error) title="swarm: ${SWARM_ERROR_TYPE:-error} ${idea}" text=${SWARM_MESSAGE:-} ;;
  on-conflict) title="swarm: ${SWARM_LEVEL:-} conflict in ${idea}" text=${SWARM_FILES:-} ;;
  post-merge) title="swarm: ${idea} is on ${SWARM_TARGET:-}" text=${SWARM_COMMIT_HASH:-} ;;
  post-complete) title="swarm: ${idea} ${SWARM_STATUS:-}" text="after ${SWARM_DURATION:-?} s" ;;
  *) title="swarm: ${SWARM_HOOK:-hook}" text=$idea ;;
esac
text="${text:0:300}
$(basename "${SWARM_REPO:-$PWD}")"

if command -v notify-send >/dev/null 2>&1; then
  # Without a desktop session (a server, a service) the notification fails; that is no failure of the work.
  notify-send --app-name=swarm -- "$title" "$text" || echo "notify-desktop: notify-send found no desktop to show it on" >&2
elif command -v osascript >/dev/null 2>&1; then
  # The texts go in as arguments, never as script: they come from agents.
  osascript -e 'on run argv' -e 'display notification (item 2 of argv) with title (item 1 of argv)' -e 'end run' \
    -- "$title" "$text" || echo "notify-desktop: osascript could not show it" >&2
else
  echo "notify-desktop: neither notify-send nor osascript is installed; nothing was shown" >&2
fi
