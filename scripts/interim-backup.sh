#!/bin/sh
# Usage: interim-backup.sh [--every HOURS]
# Run by cron or the systemd timer between the nights: makes an interim backup in BACKUP_DIR/interim and sends it to the
# restic repository, if there is one. Makes none while another backup or a restore runs, nor within 50 minutes after a
# nightly backup. --every is how often it is run, by which the hub judges whether interim backups are late. Appends the
# reports to backups/interim.log in DATA_DIR, as nightly-backup.sh does.
# Exit 0: made, or none was due. Otherwise the code of the step that failed.

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
  [ "$status" -ne 75 ] || status=0 # the other backup is as new
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
