#!/usr/bin/env bash
# Sends an e-mail through the sendmail of this machine (postfix, msmtp, nullmailer, ...).
#
# Hooks:     on-needs-you
# Variables: SWARM_KIND, SWARM_IDEA_ID, SWARM_MESSAGE, SWARM_COMMANDS, SWARM_EVENT_SEQ, SWARM_REPO
# Needs:     sendmail, and the receiver's address as the first line of .swarm/hooks/email.secret; a second line, if there is one,
#            is the sender's. git ignores *.secret files there.
# Twice:     the Message-ID is the same each time, so most mail programs show one message.
set -euo pipefail

fail() {
  echo "email: $*" >&2
  exit 1
}

repo="${SWARM_REPO:-$PWD}"
secret="$repo/.swarm/hooks/email.secret"
sendmail=$(command -v sendmail || true)
if [ -z "$sendmail" ] && [ -x /usr/sbin/sendmail ]; then sendmail=/usr/sbin/sendmail; fi
[ -n "$sendmail" ] || fail "sendmail is not installed; nothing was sent"
[ -r "$secret" ] || fail "no address: write it into $secret (first line)"

to='' from=''
{ IFS= read -r to || true; IFS= read -r from || true; } <"$secret"
case "$to" in
  *@*) ;;
  *) fail "the first line of $secret must be an e-mail address" ;;
esac

# A line break in a header would begin another one; the texts come from agents.
plain() {
  printf '%s' "$1" | LC_ALL=C tr -cd 'A-Za-z0-9._ ()-'
}

name=$(plain "$(basename "$repo")")
case "${SWARM_KIND:-}" in
  ended) subject="[$name] swarm is done" ;;
  *) subject="[$name] swarm needs you: $(plain "${SWARM_KIND:-} ${SWARM_IDEA_ID:-}")" ;;
esac

{
  printf 'To: %s\n' "$to"
  if [ -n "$from" ]; then printf 'From: %s\n' "$from"; fi
  printf 'Subject: %s\n' "$subject"
  printf 'Message-ID: <swarm-%s@%s>\n' "$(plain "${SWARM_EVENT_SEQ:-0}")" "${name// /-}"
  printf 'Auto-Submitted: auto-generated\n'
  printf 'MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n'
  printf '%s\n' "${SWARM_MESSAGE:-}"
  if [ -n "${SWARM_COMMANDS:-}" ]; then
    printf '\nIn %s:\n\n' "$repo"
    printf '%s\n' "$SWARM_COMMANDS" | while IFS= read -r line; do printf '    %s\n' "$line"; done
  fi
} | "$sendmail" -i -- "$to" || fail "sendmail did not take it"
