#!/usr/bin/env bash
# Writes to a Slack channel.
#
# Hooks:     on-needs-you
# Variables: SWARM_KIND, SWARM_IDEA_ID, SWARM_MESSAGE, SWARM_COMMANDS, SWARM_REPO
# Needs:     curl, and the URL of an incoming webhook (https://api.slack.com/messaging/webhooks) as the first line of
#            .swarm/hooks/slack.secret. git ignores *.secret files there; keep the file to yourself (chmod 600).
# Twice:     the message comes twice; Slack has no key to recognise it.
# Limits:    tries three times within 25 seconds, to stay below a hook's usual 30.
set -euo pipefail

fail() {
  echo "slack: $*" >&2
  exit 1
}

secret="${SWARM_REPO:-$PWD}/.swarm/hooks/slack.secret"
command -v curl >/dev/null 2>&1 || fail "curl is not installed; nothing was sent"
[ -r "$secret" ] || fail "no URL: write it into $secret (first line), then chmod 600 it"

url=''
{ IFS= read -r url || true; } <"$secret"
case "$url" in
  https://* | http://localhost[:/]* | http://127.0.0.1[:/]*) ;;
  *) fail "the first line of $secret must be an https:// URL" ;;
esac
case "$url" in
  *'"'* | *\\*) fail "the first line of $secret must not contain quotes or backslashes" ;;
esac

# What is secret reaches curl through a file descriptor: arguments can be read by every user of the machine.
settings() {
  printf 'url = "%s"\n' "$url"
}

# In Slack's texts `&`, `<` and `>` begin a mention or a link; the message comes from agents and must not. Then the text
# becomes a JSON string.
json() {
  LC_ALL=C tr -d '\000-\010\013-\037' | sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e 's/```//g' \
    -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/ /g' | awk '{ printf "%s%s", between, $0; between = "\\n" }'
}

case "${SWARM_KIND:-}" in
  ended) head="swarm is done" ;;
  *) head="swarm needs you (${SWARM_KIND:-})" ;;
esac
text=$(printf '*%s: %s*\n%s\n' "$(basename "${SWARM_REPO:-$PWD}")" "$head" "${SWARM_MESSAGE:-}" | json)
if [ -n "${SWARM_COMMANDS:-}" ]; then
  text="$text\\n\`\`\`\\n$(printf '%s\n' "$SWARM_COMMANDS" | json)\\n\`\`\`"
fi

printf '{"text":"%s"}' "$text" | curl --config <(settings) --fail --silent --show-error --output /dev/null \
  --header 'Content-Type: application/json' \
  --data-binary @- --connect-timeout 5 --max-time 8 \
  --retry 2 --retry-delay 1 --retry-connrefused --retry-max-time 25 \
  || fail "Slack did not take it (see above)"
