#!/bin/sh
# Usage: await-health.sh TRIES PAUSE [--worker]
# Runs healthcheck.sh until the hub is ready, at most TRIES times with PAUSE seconds between. Exit 0 at the first
# success, else as the last check, with its reason. The systemd units use it to wait for a start, and to tell a short
# outage from a lasting one. Gives up at once when the process MAINPID (set by systemd) has ended, when the file
# FAILURE_FILE, which holds the reason, exists, or when the machine has been up for DEADLINE seconds.

set -eu
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}
[ "${1-}" != --help ] || { usage && exit 0; }
[ $# -eq 2 ] || [ "$#/${3-}" = 3/--worker ] || { usage >&2 && exit 2; }
for number in "$1" "$2"; do
  case $number in '' | *[!0-9]*) usage >&2 && exit 2 ;; esac
done

root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
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
