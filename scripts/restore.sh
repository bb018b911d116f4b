#!/bin/sh
# Usage: CONFIRM_RESTORE=YES restore.sh BACKUP_DIR
#        restore.sh --recover
# Verifies a backup, stops the hub, swaps its data for the backup's, starts the hub and waits until it is healthy. If it
# does not become healthy, the previous data is rolled back automatically. --recover completes or rolls back an
# interrupted restore, and says which. Stops and starts the hub of npm start, the systemd units, or uses
# HUB_STOP_COMMAND and HUB_START_COMMAND. Exit 0: restored or recovered. 1: failed, the previous data is in place.
# 75: busy, try again.

set -eu
umask 077
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
export PATH

usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}
say() {
  echo "restore: $*" >&2
}

root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
# shellcheck source=scripts/drive-hub.sh
. "$root/scripts/drive-hub.sh"

# Runs a step of the restore as the account that owns the data; closes the lock so that no child process can hold it.
step() {
  # shellcheck disable=SC2086 # $apart is two words or none
  as_owner $apart sh "$root/scripts/hubctl" restore "$@" 9>&-
}

# From here on signals do not end this script, and Ctrl-C does not reach a step. The hub, when started, does not inherit
# this.
apart=
go_to_the_end() {
  trap : HUP INT TERM
  apart='setsid -w'
}

# Swaps the staged data in and starts the hub on it. Rolls everything back on any failure.
carry_through() {
  if await_release && step swap && step open && try_hub; then
    step finish && tell_who_starts && return
    say 'the hub runs on the restored data, but clean-up failed: run restore.sh --recover'
    return 1
  fi
  say 'the restore failed; rolling back to the previous data'
  bring_back || :
  return 1
}

# Rolls back to the previous data and starts the hub on it. Fails if the hub is not healthy on that data either.
bring_back() {
  stop_hub || :
  if ! step undo; then
    say "ROLLBACK FAILED. The previous data is not lost: it is in $data/pre-restore-*,"
    say "except for what is already back in $data. The hub stays down."
    say 'Fix the cause of the error above, then run: restore.sh --recover'
    exit 1
  fi
  if ! start_hub || ! { [ "$driver" = nobody ] || await_hub; }; then
    say 'the hub is not healthy on the previous data either; see its log'
    return 1
  fi
  tell_who_starts
}

tell_who_starts() {
  [ "$driver" != nobody ] || say 'the hub was not running before, so it was not started; you can start it now'
}

restore() {
  step begin "$1" || exit
  go_to_the_end
  if ! stop_hub; then
    say 'the hub could not be stopped'
    bring_back || :
    return 1
  fi
  carry_through
}

recover() {
  phase=$(step state) || exit
  go_to_the_end
  case $phase in
    none) echo 'no interrupted restore found' ;;
    staged | rejected | undoing)
      say "the restore was interrupted in phase '$phase': rolling back"
      bring_back
      ;;
    swapping | swapped)
      say "the restore was interrupted in phase '$phase': resuming"
      stop_hub || : # usually nothing is running
      carry_through
      ;;
    probation)
      say 'the restore was interrupted while waiting for the hub to become healthy: trying again'
      if try_hub; then step finish && tell_who_starts; else bring_back && return 1; fi
      ;;
  esac
}

main() {
  case $#-${1-} in
    1---help) usage && exit 0 ;;
    1---recover) ;;
    1- | 1--*) usage >&2 && exit 2 ;;
    1-*)
      if [ "${CONFIRM_RESTORE-}" != YES ]; then
        say "this replaces the hub's data: set CONFIRM_RESTORE=YES to confirm"
        exit 2
      fi
      ;;
    *) usage >&2 && exit 2 ;;
  esac
  read_hub || exit
  as_owner touch -- "$data/run/backup.flock"
  exec 9>>"$data/run/backup.flock"
  if ! flock -n 9; then
    say 'BUSY: another backup or restore is running'
    exit 75
  fi
  if [ "$1" = --recover ]; then recover; else restore "$1"; fi
}

main "$@"
exit
