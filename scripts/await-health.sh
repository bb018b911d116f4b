#!/bin/sh
# Usage: await-health.sh TRIES PAUSE [--worker]
# Runs healthcheck.sh until it succeeds, at most TRIES times, PAUSE seconds apart. If no health check succeeds, prints
# the reason of the last check and exits with the last check's code. The systemd units use this script to wait for a
# start, and to ignore short outages. Gives up early when the process MAINPID (set by systemd) has ended, when the file
# FAILURE_FILE, which holds the reason, exists, or when the machine's uptime reaches DEADLINE seconds.

set -eu
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
[ "${1-}" != --help ] || { usage && exit 0; }
[ $# -eq 2 ] || [ "$#/${3-}" = 3/--worker ] || wrong_usage
for number in "$1" "$2"; do
  case $number in '' | *[!0-9]*) wrong_usage ;; esac
done

tries=$1 pause=$2
shift 2

has_ended() {
  if [ -e "${FAILURE_FILE-}" ]; then
    said=$(cat -- "$FAILURE_FILE")
  else
    [ -n "${MAINPID-}" ] && ! kill -0 "$MAINPID" 2>/dev/null
  fi
}

is_over() {
  [ "$tries" -le 0 ] && return
  read -r up _ </proc/uptime
  [ -n "${DEADLINE-}" ] && [ "${up%.*}" -ge "$DEADLINE" ]
}

until said=$("$root/scripts/healthcheck.sh" "$@" 2>&1); do
  status=$?
  tries=$((tries - 1))
  if has_ended || is_over; then
    printf '%s\n' "$said" >&2
    exit "$status"
  fi
  sleep "$pause"
done
