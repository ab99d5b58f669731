#!/usr/bin/env bash
# Sends a push message to your phone through ntfy (https://ntfy.sh, or a server of yours).
#
# Hooks:     on-needs-you
# Variables: SWARM_KIND, SWARM_IDEA_ID, SWARM_MESSAGE, SWARM_COMMANDS, SWARM_REPO
# Needs:     curl, and the URL of a topic in .swarm/hooks/ntfy.secret: its first line, such as https://ntfy.sh/a-long-random-name;
#            a second line, if there is one, is a header such as `Authorization: Bearer ...`. git ignores *.secret files there.
# Twice:     the message comes twice; ntfy has no key to recognise it.
# Limits:    tries three times within 25 seconds, to stay below a hook's usual 30.
set -euo pipefail

fail() {
  echo "ntfy: $*" >&2
  exit 1
}

secret="${SWARM_REPO:-$PWD}/.swarm/hooks/ntfy.secret"
command -v curl >/dev/null 2>&1 || fail "curl is not installed; nothing was sent"
[ -r "$secret" ] || fail "no topic: write its URL into $secret (first line), then chmod 600 it"

url='' header=''
{ IFS= read -r url || true; IFS= read -r header || true; } <"$secret"
case "$url" in
  https://* | http://localhost[:/]* | http://127.0.0.1[:/]*) ;;
  *) fail "the first line of $secret must be an https:// URL" ;;
esac
case "$url$header" in
  *'"'* | *\\*) fail "the lines of $secret must not contain quotes or backslashes" ;;
esac

# What is secret reaches curl through a file descriptor: arguments can be read by every user of the machine.
settings() {
  printf 'url = "%s"\n' "$url"
  if [ -n "$header" ]; then printf 'header = "%s"\n' "$header"; fi
}

# A header holds one line of plain characters; the text itself is the body.
repo=$(basename "${SWARM_REPO:-$PWD}" | LC_ALL=C tr -cd 'A-Za-z0-9._-')
case "${SWARM_KIND:-}" in
  ended) title="$repo: swarm is done" priority=default ;;
  question | account | target) title="$repo: swarm needs you (${SWARM_KIND})" priority=high ;;
  *) title="$repo: swarm needs you (${SWARM_KIND:-})" priority=default ;;
esac

printf '%s\n\n%s\n' "${SWARM_MESSAGE:-}" "${SWARM_COMMANDS:-}" | curl --config <(settings) \
  --fail --silent --show-error --output /dev/null \
  --header "Title: $title" --header "Priority: $priority" --header 'Tags: bee' \
  --data-binary @- --connect-timeout 5 --max-time 8 \
  --retry 2 --retry-delay 1 --retry-connrefused --retry-max-time 25 \
  || fail "the server did not take it (see above)"
