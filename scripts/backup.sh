#!/bin/sh
# Usage: backup.sh
# Makes and verifies a backup in BACKUP_DIR while the hub keeps running, removes old backups
# (BACKUP_RETENTION_DAYS) and makes off-site copies if destinations are configured, also of backups that one has missed;
# of these also where no backup could be made.
# When run as root, it switches to the account that owns the database. The last line on standard output is
# machine-readable:
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

# part SECONDS COMMAND...: runs a step with a time limit, forwards signals to it, and closes the lock so that no child
# process can hold it.
part() {
  seconds=$1 began=$(date +%s)
  shift
  timeout -k 60 "$seconds" "$@" 9>&- &
  child=$!
  status=0
  wait "$child" || status=$?
  if [ -n "$stopped" ]; then
    again=0
    wait "$child" || again=$?
    [ "$again" -eq 127 ] || status=$again
  fi
  child=
  case $status in
    124) say "stopped: time limit of $seconds s exceeded" ;;
    137) if [ "$(date +%s)" -lt $((began + seconds)) ]; then say 'the step was killed'; else
      say "stopped: time limit of $seconds s exceeded"; fi ;;
  esac
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
  values=$(sh "$root/scripts/hubctl" config DATA_DIR BACKUP_TIMEOUT_SECONDS BACKUP_OFFSITE_DIR BACKUP_RCLONE_REMOTE \
    BACKUP_RESTIC_REPOSITORY) || finish "$?" failed none
  data=$(printf '%s\n' "$values" | sed -n 1p)
  limit=$(printf '%s\n' "$values" | sed -n 2p)
  destinations=
  [ -z "$(printf '%s\n' "$values" | sed -n 3p)" ] || destinations=dir
  [ -z "$(printf '%s\n' "$values" | sed -n 4p)" ] || destinations="$destinations rclone"
  [ -z "$(printf '%s\n' "$values" | sed -n 5p)" ] || destinations="$destinations restic"
  if [ ! -d "$data/run" ] && [ ! -e "$data/hub.db" ]; then
    say "there is no hub database in $data"
    finish 1 failed none
  fi
  # shellcheck source=scripts/as-owner.sh
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/backup.sh" || finish 1 failed none
  mkdir -p -- "$data/run" || finish 1 failed none
  touch -- "$data/run/backup.flock" || finish 1 failed none
  exec 9>>"$data/run/backup.flock"
  held=0
  flock -n 9 || held=$?
  case $held in
    0) ;;
    1) say 'BUSY: another backup or restore is running' && finish 75 busy none ;;
    *) say "flock (util-linux) is missing or cannot lock $data/run/backup.flock" && finish 1 failed none ;;
  esac
  child='' stopped=''
  trap 'stop 129' HUP
  trap 'stop 130' INT
  trap 'stop 143' TERM

  # Check the destinations first, to report a missing tool or disk at once. The local backup is made in any case, and
  # each destination is checked again when its turn comes.
  part "$(least 300 "$limit")" sh "$root/scripts/off-site.sh" check >&2
  [ -z "$stopped" ] || finish "$stopped" failed none

  part "$limit" sh "$root/scripts/hubctl" backup >"$data/run/backup.line"
  made=${stopped:-$status}
  line=$(tail -n 1 "$data/run/backup.line")
  rm -f "$data/run/backup.line"
  case $line in
    'result='*' dir='*) dir=${line#* dir=} fields=${line#* } failure='the backup is kept on this machine, but' ;;
    'result=busy') finish 75 busy none ;;
    *)
      [ -z "$stopped" ] || finish "$stopped" failed none
      [ "$made" -ne 0 ] || made=1
      line=result=failed dir='' fields='' failure='no backup was made, and'
      ;;
  esac
  result=${line%% *} && result=${result#result=}

  away=none broken=
  for destination in $destinations; do
    sent=
    send_to "$destination" "$dir" || { away=failed && broken="$broken $destination"; }
    [ "$away" != none ] || [ -z "$sent" ] || away='done'
  done
  if [ "$away" = failed ]; then
    say "$failure the off-site copy FAILED:$broken"
    [ "$made" -ne 0 ] || made=1
  fi
  [ -z "$stopped" ] || made=$stopped
  finish "$(outcome "$made")" "$result" "$away" "$fields"
}

# send_to DESTINATION BACKUP_DIR: each destination has a time limit of its own, so that one that hangs does not keep the
# others from their copies. Without a backup, only what the destination has missed is sent. Sets $sent if there was any.
send_to() {
  [ -z "$stopped" ] || return
  if [ -n "$2" ]; then
    part "$limit" sh "$root/scripts/off-site.sh" send "$2" "$1" >&2
    sent=yes
  else
    part "$limit" sh "$root/scripts/off-site.sh" missed "$1" >"$data/run/backup.line"
    cat -- "$data/run/backup.line" >&2
    [ ! -s "$data/run/backup.line" ] || sent=yes
    rm -f -- "$data/run/backup.line"
  fi
  # A step that had to be killed could not record how it ended.
  [ "$status" -ne 137 ] ||
    echo 'the copy was killed before it was complete' | sh "$root/scripts/hubctl" offsite-note "$1" failed
  [ "$status" -eq 0 ]
}

least() {
  if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi
}

# Maps the exit status of a step to that of this script.
outcome() {
  case $1 in 1 | 2 | 75 | 129 | 130 | 143) echo "$1" ;; 0) echo 0 ;; *) echo 1 ;; esac
}

main "$@"
