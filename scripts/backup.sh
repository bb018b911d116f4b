#!/bin/sh
# Usage: backup.sh [--wait]
#        backup.sh --interim [--every HOURS]
# Makes and verifies a backup in BACKUP_DIR while the hub keeps running. Then removes old backups
# (BACKUP_RETENTION_DAYS), and sends the new backup to the off-site destinations, with earlier backups that a
# destination lacks. Earlier backups are sent even if no new backup could be made. When run as root, this script
# switches to the account that owns the database. Each step has a time limit (BACKUP_TIMEOUT_SECONDS, six hours).
# --wait, for the nightly run, first waits for another backup to end, for as long as a step may take, and makes no
# backup in a BACKUP_DIR that has lost its backups. --interim makes an interim backup in BACKUP_DIR/interim and no
# nightly backup, keeps the newest 24 interim backups, and sends the interim backup to the restic repository only. The
# last line on standard output is machine-readable:
# result=verified|degraded|failed|busy|skipped off-site=done|failed|none [name=… bytes=… seconds=… removed=… dir=…]
# Exit 0: everything succeeded. 1: something failed. 75: busy, try again. 129, 130, 143: stopped by a signal.

# Everything is in functions: the shell reads the whole file first, so updating the file during a run does no harm.
# shellcheck disable=SC2154 # read_settings assigns variables
set -eu
umask 077
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin"
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"

say() {
  echo "backup: $*" >&2
}

# Prints the result line and exits: finish STATUS RESULT OFF-SITE [FIELDS]
finish() {
  echo "result=$2 off-site=$3${4:+ $4}"
  exit "$1"
}

# run_limited SECONDS COMMAND...: runs a step of the backup with a time limit and sets $status to the step's exit code.
# Passes signals to the script on to the running step. Closes the backup lock in the step, so that no child process
# holds the lock.
run_limited() {
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
    124 | 137)
      why="stopped: time limit of $seconds s exceeded"
      [ "$status" -eq 124 ] || [ "$(date +%s)" -ge $((began + seconds)) ] || why='the step was killed'
      say "$why"
      ;;
  esac
}

# shellcheck disable=SC2317 # called by the traps
stop() {
  stopped=$1
  [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || :
}

main() {
  read_arguments "$@"
  read_settings data=DATA_DIR limit=BACKUP_TIMEOUT_SECONDS folder=BACKUP_OFFSITE_DIR remote=BACKUP_RCLONE_REMOTE \
    repository=BACKUP_RESTIC_REPOSITORY || finish "$?" failed none
  destinations="${folder:+dir} ${remote:+rclone} ${repository:+restic}"
  [ -z "$interim" ] || destinations=${repository:+restic}
  if [ ! -d "$data/run" ] && [ ! -e "$data/hub.db" ]; then
    say "there is no hub database in $data"
    finish 1 failed none
  fi
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/backup.sh" "$@" || finish 1 failed none
  mkdir -p -- "$data/run" || finish 1 failed none
  touch -- "$data/run/backup.flock" || finish 1 failed none
  exec 9>>"$data/run/backup.flock"
  [ "$patience" = -n ] || patience="-w $limit"
  held=0
  # shellcheck disable=SC2086 # one word or two
  flock $patience 9 || held=$?
  case $held in
    0) ;;
    1) say 'BUSY: another backup or restore is running' && finish 75 busy none ;;
    *) say "flock (util-linux) is missing or cannot lock $data/run/backup.flock" && finish 1 failed none ;;
  esac
  child='' stopped=''
  trap 'stop 129' HUP
  trap 'stop 130' INT
  trap 'stop 143' TERM

  # Reports a missing tool or disk at once. The backup is made in any case, and each destination is checked again later.
  shortly=$limit
  [ "$limit" -le 300 ] || shortly=300
  [ -n "$interim" ] || run_limited "$shortly" sh "$root/scripts/off-site.sh" check >&2
  [ -z "$stopped" ] || finish "$stopped" failed none

  # shellcheck disable=SC2086 # several words or none
  run_limited "$limit" sh "$root/scripts/hubctl" backup $options >"$data/run/backup.line"
  made=${stopped:-$status}
  line=$(tail -n 1 "$data/run/backup.line")
  rm -f "$data/run/backup.line"
  case $line in
    'result='*' dir='*) dir=${line#* dir=} fields=${line#* } failure='the backup is kept on this machine, but' ;;
    'result=busy') finish 75 busy none ;;
    'result=skipped') finish 0 skipped none ;;
    *)
      [ -z "$stopped" ] || finish "$stopped" failed none
      [ "$made" -ne 0 ] || made=1
      line=result=failed dir='' fields='' failure='no backup was made, and'
      ;;
  esac
  result=${line%% *} && result=${result#result=}

  [ -z "$interim" ] || [ -n "$dir" ] || finish "$made" failed none # the nightly run sends the earlier backups
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
  case $made in 0 | 1 | 2 | 75 | 129 | 130 | 143) ;; *) made=1 ;; esac
  finish "$made" "$result" "$away" "$fields"
}

# Sets $interim for an interim backup, $options to the arguments of hubctl, and $patience to the arguments of flock.
read_arguments() {
  interim='' options='' patience=-n
  case $#-${1-}-${2-} in
    0--) ;;
    1---help-) usage && exit 0 ;;
    1---wait-) patience=-w options=--unattended ;;
    1---interim-) interim=yes options=--interim ;;
    3---interim---every)
      is_interval "$3" || wrong_usage
      interim=yes options="--interim --every $3"
      ;;
    *) wrong_usage ;;
  esac
}

# send_to DESTINATION BACKUP_DIR: sends the backup, and earlier backups that the destination lacks; without BACKUP_DIR,
# only the earlier backups. Sets $sent if a backup was sent. Each destination has its own time limit, so that a hanging
# destination delays no other destination.
send_to() {
  [ -z "$stopped" ] || return
  if [ -n "$2" ]; then
    run_limited "$limit" sh "$root/scripts/off-site.sh" send "$2" "$1" >&2
    sent=yes
  else
    run_limited "$limit" sh "$root/scripts/off-site.sh" missed "$1" >"$data/run/backup.line"
    cat -- "$data/run/backup.line" >&2
    [ ! -s "$data/run/backup.line" ] || sent=yes
    rm -f -- "$data/run/backup.line"
  fi
  if [ "$status" -eq 137 ]; then # a killed step could not record its result
    set -- "$1" "${2##*/}"
    echo 'the copy was killed before it was complete' |
      sh "$root/scripts/hubctl" offsite-note "$1" failed --killed ${2:+--unsent "$2"}
    return 1
  fi
  [ "$status" -eq 0 ]
}

main "$@"
