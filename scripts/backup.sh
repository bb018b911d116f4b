#!/bin/sh
# Usage: backup.sh
# Makes and verifies a backup in DATA_DIR/backups while the hub keeps running, removes old backups
# (BACKUP_RETENTION_DAYS) and makes off-site copies if destinations are configured. When run as root, it switches to the
# account that owns the database. The last line on standard output is machine-readable:
# result=verified|degraded|failed|busy off-site=done|failed|none [name=… bytes=… seconds=… removed=… dir=…]
# Exit 0: everything succeeded. Each step is stopped after BACKUP_TIMEOUT_SECONDS (21600, six hours).

# Everything is in functions, so the shell reads the whole file before it runs any of it: updating this file during a
# run does no harm.
set -eu
umask 077
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
export PATH

say() {
  echo "backup: $*" >&2
}

# Prints the result line and exits: finish STATUS RESULT OFF-SITE [FIELDS]
finish() {
  echo "result=$2 off-site=$3${4:+ $4}"
  exit "$1"
}

# Runs a step with a time limit, forwards signals to it, and closes the lock so that no child process can hold it.
part() {
  timeout -k 60 "$limit" "$@" 9>&- &
  child=$!
  status=0
  wait "$child" || status=$?
  if [ -n "$stopped" ]; then
    again=0
    wait "$child" || again=$?
    [ "$again" -eq 127 ] || status=$again
  fi
  child=
  case $status in 124 | 137) say "stopped: time limit of $limit s exceeded" ;; esac
}

# shellcheck disable=SC2317 # called by the traps
stop() {
  stopped=$1
  [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || :
}

main() {
  case ${1-} in
    '') ;;
    --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
  esac
  root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
  values=$(sh "$root/scripts/hubctl" config DATA_DIR BACKUP_TIMEOUT_SECONDS BACKUP_OFFSITE_DIR BACKUP_RCLONE_REMOTE) ||
    finish "$?" failed none
  data=$(printf '%s\n' "$values" | sed -n 1p)
  limit=$(printf '%s\n' "$values" | sed -n 2p)
  away=none
  [ -z "$(printf '%s\n' "$values" | sed 1,2d)" ] || away='done'
  if [ ! -d "$data/run" ]; then
    say "there is no hub database in $data"
    finish 1 failed none
  fi
  # shellcheck source=scripts/as-owner.sh
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/backup.sh"
  touch -- "$data/run/backup.flock" || finish 1 failed none
  exec 9>>"$data/run/backup.flock"
  if ! flock -n 9; then
    say 'BUSY: another backup or restore is running'
    finish 75 busy none
  fi
  child='' stopped=''
  trap 'stop 129' HUP
  trap 'stop 130' INT
  trap 'stop 143' TERM

  # Check the destinations first, to report a missing tool or disk at once. The local backup is made in any case.
  part sh "$root/scripts/off-site.sh" check >&2
  [ -z "$stopped" ] || finish "$stopped" failed none
  [ "$status" -eq 0 ] || away=failed

  part sh "$root/scripts/hubctl" backup >"$data/run/backup.line"
  made=${stopped:-$status}
  line=$(tail -n 1 "$data/run/backup.line")
  rm -f "$data/run/backup.line"
  case $line in
    'result='*' dir='*) ;;
    'result=busy') finish 75 busy none ;;
    *) finish "$(outcome "$made")" failed none ;;
  esac
  result=${line%% *} && result=${result#result=}

  [ -z "$stopped" ] || [ "$away" = none ] || away=failed
  if [ "$away" = 'done' ]; then
    part sh "$root/scripts/off-site.sh" send "${line#* dir=}" >&2
    [ "$status" -eq 0 ] || away=failed
  fi
  if [ "$away" = failed ]; then
    say "the backup is kept on this machine, but the off-site copy FAILED"
    [ "$made" -ne 0 ] || made=1
  fi
  [ -z "$stopped" ] || made=$stopped
  finish "$(outcome "$made")" "$result" "$away" "${line#* }"
}

# Maps the exit status of a step to that of this script.
outcome() {
  case $1 in 1 | 2 | 75 | 129 | 130 | 143) echo "$1" ;; 0) echo 0 ;; *) echo 1 ;; esac
}

main "$@"
