#!/bin/sh
# Usage: interim-backup.sh [--every HOURS]
# cron or the systemd timer runs interim-backup.sh between the nights. interim-backup.sh makes an interim backup in
# BACKUP_DIR/interim and sends the backup to the restic repository, if BACKUP_RESTIC_REPOSITORY is set. No interim
# backup is made while another backup or a restore runs, nor within 50 minutes after a nightly backup. HOURS is the time
# between two runs, by which the hub judges whether interim backups are late. The reports are appended to
# backups/interim.log in DATA_DIR. On failure the script also prints the report on standard error, for cron's mail and
# the journal.
# Exit 0: an interim backup was made, or no interim backup was due. Any other exit code is that of the failed backup.sh.

# shellcheck disable=SC2154 # read_settings assigns variables
set -eu
umask 077
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin" # cron's is short
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"

# shellcheck disable=SC2317 # called by log_report
report() {
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) interim backup"
  status=0
  "$root/scripts/backup.sh" --interim ${hours:+--every "$hours"} || status=$?
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) ended with exit code $status"
  [ "$status" -ne 75 ] || status=0 # another backup is running, which is as new as an interim backup
}

# In a function: the shell reads the whole file first, so updating it during a run does no harm.
main() {
  case $#-${1-} in
    0-) hours= ;;
    1---help) usage && exit 0 ;;
    2---every)
      is_interval "$2" || wrong_usage
      hours=$2
      ;;
    *) wrong_usage ;;
  esac
  read_settings data=DATA_DIR || exit
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/interim-backup.sh" "$@"
  log_report "$data/backups" interim.log
}

main "$@"
