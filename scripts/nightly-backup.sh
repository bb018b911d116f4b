#!/bin/sh
# Usage: nightly-backup.sh
# Run by cron or the systemd timer. Waits for an interim backup to end, makes a backup, then verifies the newest backup and the one that has waited longest
# for another verification, and calls HEARTBEAT_URL if everything succeeded. Appends the reports to backups/nightly.log
# in DATA_DIR, which is renamed nightly.log.1 at 1 MiB. On failure it also prints the report on standard error, for
# cron's mail and the journal.
# Exit 0: everything succeeded. Otherwise the code of the step that failed.

# shellcheck disable=SC2154 # read_settings assigns variables
set -eu
umask 077
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin" # cron's is short
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"

# A call that fails is the service's trouble: the hub tells it as an alert, and the night stays a good one.
sign_of_life() {
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) sign of life"
  (cd -- "$root" && scripts/hubctl heartbeat) || :
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
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) ended with exit code $status"
}

# In a function: the shell reads the whole file first, so updating it during a run does no harm.
main() {
  case $#-${1-} in 0-) ;; 1---help) usage && exit 0 ;; *) wrong_usage ;; esac
  read_settings data=DATA_DIR backups=BACKUP_DIR || exit
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/nightly-backup.sh"
  log_report "$data/backups" nightly.log
}

main "$@"
