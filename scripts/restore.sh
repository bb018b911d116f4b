#!/bin/sh
# Usage: CONFIRM_RESTORE=YES restore.sh BACKUP_DIR
#        restore.sh --recover
# Verifies a backup, stops the hub, puts its data aside and the backup's in its place, starts the hub and waits until it
# is healthy; if it does not become so, the data from before comes back by itself. --recover ends a restore that was
# interrupted, either way, and says which. Drives the hub of npm start, the systemd units, or what HUB_STOP_COMMAND and
# HUB_START_COMMAND say. Exit 0: restored, or recovered. 1: it failed, the data is as before. 75: busy, try again.

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

# A step of the restore, as the user who owns the data, and without the lock: nothing that it starts may hold it.
step() {
  # shellcheck disable=SC2086 # two words or none
  as_owner $apart sh "$root/scripts/hubctl" restore "$@" 9>&-
}

# From here on a signal does not end the script, nor a Ctrl-C a step; what else it starts does not inherit that.
apart=
go_to_the_end() {
  trap : HUP INT TERM
  apart='setsid -w'
}

# From staged data to a hub that runs on it. On any failure everything goes back.
carry_through() {
  if await_release && step swap && step open && try_hub; then
    step finish && tell_who_starts && return
    say 'the hub runs on the restored data; restore.sh --recover tries to end this again'
    return 1
  fi
  say 'it could not be completed; bringing back what was there before'
  bring_back || :
  return 1
}

# The hub as it was before. Fails where it is not healthy on that, either.
bring_back() {
  stop_hub || :
  if ! step undo; then
    say "THE DATA FROM BEFORE COULD NOT BE BROUGHT BACK BY ITSELF. Nothing of it is lost: it lies in"
    say "$data/pre-restore-*, and in $data what is back already. The hub stays down."
    say 'Remove what is in the way, then run: restore.sh --recover'
    exit 1
  fi
  if ! start_hub || ! { [ "$driver" = nobody ] || await_hub; }; then
    say 'the hub is not healthy on the previous data, either; look at its log'
    return 1
  fi
  tell_who_starts
}

tell_who_starts() {
  [ "$driver" != nobody ] || say 'nobody ran the hub when this began: it can be started now'
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
    none) echo 'there is no restore to recover' ;;
    staged | rejected | undoing)
      say "interrupted while $phase: going back"
      bring_back
      ;;
    swapping | swapped)
      say "interrupted while $phase: going on"
      stop_hub || : # there is nothing that it could stop
      carry_through
      ;;
    probation)
      say 'interrupted when the hub had to prove itself: trying it again'
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
        say 'this replaces the data of the hub: set CONFIRM_RESTORE=YES to confirm it'
        exit 2
      fi
      ;;
    *) usage >&2 && exit 2 ;;
  esac
  read_hub || exit
  as_owner touch -- "$data/run/backup.flock"
  exec 9>>"$data/run/backup.flock"
  if ! flock -n 9; then
    say 'BUSY: a backup is being made or restored'
    exit 75
  fi
  if [ "$1" = --recover ]; then recover; else restore "$1"; fi
}

main "$@"
exit
