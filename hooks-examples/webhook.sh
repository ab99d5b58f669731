#!/usr/bin/env bash
# Posts the hook's JSON to a URL of yours: {"hook": ..., "eventSeq": ..., "data": {...}}.
#
# Hooks:     any
# Variables: SWARM_HOOK, SWARM_EVENT_SEQ, SWARM_REPO
# Needs:     curl, and the URL in .swarm/hooks/webhook.secret: its first line; a second line, if there is one, is a header
#            such as `Authorization: Bearer ...`. git ignores *.secret files there; keep the file to yourself (chmod 600).
# Twice:     the header Idempotency-Key is the same each time; a receiver that must not act twice looks at it.
# Limits:    tries three times within 25 seconds, to stay below a hook's usual 30.
set -euo pipefail

fail() {
  echo "webhook: $*" >&2
  exit 1
}

secret="${SWARM_REPO:-$PWD}/.swarm/hooks/webhook.secret"
command -v curl >/dev/null 2>&1 || fail "curl is not installed; nothing was sent"
[ -r "$secret" ] || fail "no URL: write it into $secret (first line), then chmod 600 it"

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

body=$(cat)
printf '%s' "$body" | curl --config <(settings) --fail --silent --show-error --output /dev/null \
  --header 'Content-Type: application/json' \
  --header "Idempotency-Key: ${SWARM_HOOK:-hook}-${SWARM_EVENT_SEQ:-0}" \
  --data-binary @- --connect-timeout 5 --max-time 8 \
  --retry 2 --retry-delay 1 --retry-connrefused --retry-max-time 25 \
  || fail "the receiver did not take it (see above)"
