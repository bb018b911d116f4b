#!/bin/sh
# Usage: nightly-backup.sh [--timer]
# cron or the systemd timer runs nightly-backup.sh. nightly-backup.sh waits for an interim backup to end, makes a
# backup, then verifies the newest backup and the backup that was verified longest ago, and calls HEARTBEAT_URL if
# everything succeeded. nightly-backup.sh ends with the drills that are due (DRILL_EVERY_DAYS). The report of each night
# is appended to backups/nightly.log in DATA_DIR; a log of 1 MiB is renamed nightly.log.1. If the nightly run fails, its
# report is also printed on standard error, for cron's mail and the journal. With --timer, which the systemd timer gives
# at 03:15 and at 04:15, it does nothing between 4 and 5 o'clock if the night has its backup.
# Exit 0: everything succeeded. Any other exit code is that of the step that failed.

# shellcheck disable=SC2154 # read_settings assigns variables
set -eu
umask 077
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin" # cron sets a short PATH
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"

# If the call of HEARTBEAT_URL fails, the nightly run still succeeds: the hub sends an alert about the failed call.
sign_of_life() {
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) sign of life"
  (cd -- "$root" && scripts/hubctl heartbeat) || :
}

# A failed drill does not make the nightly run fail: the drill is recorded, and the hub sends an alert about the drill.
# shellcheck disable=SC2317 # called by report
run_due_drills() {
  for destination in $(cd -- "$root" && scripts/hubctl drill due); do
    echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) drill"
    ended=0
    timeout -k 60 "$limit" "$root/scripts/drill.sh" "$destination" || ended=$?
    case $ended in 124 | 137) ;; *) continue ;; esac
    echo "the drill was killed, or took longer than $limit s" |
      (cd -- "$root" && scripts/hubctl drill note "$destination" failed) || :
  done
}

# shellcheck disable=SC2317 # called by log_report
report() {
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) backup"
  status=0
  "$root/scripts/backup.sh" --wait || status=$?
  [ "$status" -ne 0 ] || date +%F >"$data/backups/nightly.done" || :
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) verify"
  due=$(cd -- "$root" && scripts/hubctl backup due) || due=
  for name in $due; do
    "$root/scripts/verify-backup.sh" "$backups/$name" || { verify=$? && [ "$status" -ne 0 ] || status=$verify; }
  done
  [ -n "$due" ] || { echo 'there is no backup to verify' && status=1; }
  [ "$status" -ne 0 ] || sign_of_life
  run_due_drills
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) ended with exit code $status"
}

# Whether this is the second start of a night, by the clock on the wall, and an earlier one has made the night's backup.
is_done() {
  [ "$(date +%H)" = 04 ] && [ "$(cat -- "$data/backups/nightly.done" 2>/dev/null)" = "$(date +%F)" ]
}

# In a function: the shell reads the whole file first, so updating the file during a run does no harm.
main() {
  case $#-${1-} in 0- | 1---timer) ;; 1---help) usage && exit 0 ;; *) wrong_usage ;; esac
  read_settings data=DATA_DIR backups=BACKUP_DIR limit=BACKUP_TIMEOUT_SECONDS || exit
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/nightly-backup.sh" "$@"
  [ $# -eq 0 ] || ! is_done || exit 0
  log_report "$data/backups" nightly.log
}

main "$@"
