#!/bin/sh
# Usage: nightly-backup.sh
# Run by cron or the systemd timer: runs backup.sh, then verify-backup.sh on the newest backup and on the one whose last
# verification is the longest ago, and appends their reports to backups/nightly.log in DATA_DIR (at 1 MiB the log is
# renamed nightly.log.1). Silent on success; otherwise it repeats the report on standard error, for cron's mail and the
# journal, and exits non-zero.

# cron's PATH is short or unset; age, rclone and Node are often in /usr/local/bin.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
export PATH
set -eu
umask 077

report() {
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) backup"
  status=0
  "$root/scripts/backup.sh" || status=$?
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) verify"
  due=$(cd -- "$root" && scripts/hubctl backup due) || due=
  for name in $due; do
    "$root/scripts/verify-backup.sh" "$backups/$name" || { verify=$? && [ "$status" -ne 0 ] || status=$verify; }
  done
  [ -n "$due" ] || { echo 'there is no backup to verify' && status=1; }
  echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) ended with exit code $status"
}

# In a function, so that the shell reads the whole file before it runs: updating it during a run does no harm.
main() {
  case $#-${1-} in
    0-) ;;
    1---help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
  esac
  root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
  values=$(cd -- "$root" && scripts/hubctl config DATA_DIR BACKUP_DIR) || exit
  data=$(printf '%s\n' "$values" | sed -n 1p)
  backups=$(printf '%s\n' "$values" | sed -n 2p)
  # shellcheck source=scripts/as-owner.sh
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/nightly-backup.sh"
  log=$data/backups/nightly.log
  mkdir -p -- "$data/backups"
  touch -- "$log" || exit 1
  [ "$(wc -c <"$log")" -lt 1048576 ] || { mv -f -- "$log" "$log.1" && : >"$log"; }
  before=$(wc -c <"$log")
  report >>"$log" 2>&1 </dev/null
  [ "$status" -eq 0 ] || tail -c "+$((before + 1))" "$log" | tail -n 100 >&2
  exit "$status"
}

main "$@"
