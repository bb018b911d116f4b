#!/bin/sh
# Usage: await-health.sh TRIES PAUSE [--worker]
# Checks the health of the hub as healthcheck.sh does, until it is good, at most TRIES times, PAUSE seconds apart. If no
# check succeeds, prints the reason of the last check and exits with the last check's code. The systemd units use this
# script to wait for a start, and to ignore short outages. Gives up early when the process MAINPID (set by systemd) has
# ended, when the file FAILURE_FILE, which holds the reason, exists, or when the machine's uptime reaches DEADLINE
# seconds.

set -eu
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
[ "${1-}" != --help ] || { usage && exit 0; }
[ $# -eq 2 ] || [ "$#/${3-}" = 3/--worker ] || wrong_usage
for number in "$1" "$2"; do
  case $number in '' | *[!0-9]*) wrong_usage ;; esac
done

. "$root/scripts/find-node.sh"

if [ -z "$node" ]; then
  echo 'await-health: the hub is not set up yet' >&2
  exit 1
fi
exec "$node" --disable-sigusr1 "$root/src/bin/healthcheck.ts" "$@"
