#!/bin/sh
# Usage: nightly-backup.sh
# cron or the systemd timer runs this script. It waits for an interim backup to end, makes a backup, then verifies the
# newest backup and the backup that was verified longest ago, and calls HEARTBEAT_URL if everything succeeded. It ends
# with the drills that are due (DRILL_EVERY_DAYS). It appends the reports to backups/nightly.log in DATA_DIR, and renames
# the log nightly.log.1 at 1 MiB. On failure it also prints the report on standard error, for cron's mail and the journal.
# Exit 0: everything succeeded. Otherwise the code of the step that failed.

# shellcheck disable=SC2154 # read_settings assigns variables
set -eu
umask 077
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin" # cron sets a short PATH
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"

# A failed call does not make the nightly run fail: the hub sends an alert about the call.
sign_of_life() {
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) sign of life"
  (cd -- "$root" && scripts/hubctl heartbeat) || :
}

# A drill that fails is recorded, and told by the hub as an alert: the night stays a good one.
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

# In a function: the shell reads the whole file first, so updating the file during a run does no harm.
main() {
  case $#-${1-} in 0-) ;; 1---help) usage && exit 0 ;; *) wrong_usage ;; esac
  read_settings data=DATA_DIR backups=BACKUP_DIR limit=BACKUP_TIMEOUT_SECONDS || exit
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/nightly-backup.sh"
  log_report "$data/backups" nightly.log
}

main "$@"
