#!/usr/bin/env bash
# Makes pictures of all pages at 1440, 1024 and 390 px, light and dark, from a real night of `swarm demo`.
#
#   tests/page/pictures.sh DIR [NAME]
#
# NAME makes one kind alone: overview, idea, train, ...
set -euo pipefail

[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "usage: $0 DIR [NAME]" >&2; exit 2; }
mkdir -p "$1"
SWARM_PICTURES="$(cd "$1" && pwd)"
export SWARM_PICTURES
[ $# -eq 1 ] || export SWARM_PICTURES_ONLY="$2"
cd "$(dirname "$0")/../.."
exec cargo test --locked --test page -- --ignored --exact pictures::pictures_of_every_page
