#!/bin/sh
# Usage: CONFIRM_RESTORE=YES restore.sh BACKUP [--identity KEY]
#        CONFIRM_RESTORE=YES restore.sh --restic NAME
#        restore.sh --list
#        restore.sh --recover
# Replaces the hub's data with a backup. BACKUP is a backup's folder, an encrypted copy (backup.tar.gz.age, or its
# folder) or a copy on an rclone remote, such as box:hub/20260131-031500. KEY is the file with the secret key of an
# encrypted copy. NAME is a backup in the restic repository. The backup is verified and staged before the hub is
# stopped. If the hub does not become healthy on the new data, the previous data is rolled back automatically.
# --list shows the backups here and off-site. --recover completes or rolls back an interrupted restore, and says which.
# Stops and starts the hub of npm start or the systemd units, or uses HUB_STOP_COMMAND and HUB_START_COMMAND. Run this
# script as root or as the account that owns the data.
# Exit 0: restored or recovered. 1: failed, the data is as it was before. 75: busy, try again. 129, 130, 143: stopped by
# a signal before the hub was stopped; nothing was changed.

set -eu
umask 077
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin"
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
say() {
  echo "restore: $*" >&2
}
# Ends the script; only for use before the hub is stopped.
give_up() {
  say "$*" 2>&1 | hide_secrets >&2
  exit 1
}

. "$root/scripts/drive-hub.sh"
. "$root/scripts/fetch-backup.sh"
. "$root/scripts/list-backups.sh"

# Runs a step of the restore as the account that owns the data; closes the backup lock, so that no child process can
# hold this lock.
step() {
  # shellcheck disable=SC2086 # $apart is two words or none
  as_owner $apart sh "$root/scripts/hubctl" restore "$@" 9>&-
}

# Swaps the staged data in and starts the hub on the new data. Rolls back on any failure.
carry_through() {
  if await_release && step swap && step open && restore_id && try_hub; then
    finish
    return
  fi
  fail_restore
}

# Ends the trial of the restored data, after the hub became healthy, or after the hub ended the trial by itself because
# restore.sh took too long.
finish() {
  if ! is_open || { ! step finish && ! is_open; }; then
    say "the hub has ended the trial by itself: the restored data stays. The previous data, if there was any, is in \
$data/pre-restore-${id:-*}"
  elif is_open; then
    say 'the hub runs on the restored data, but clean-up failed: run restore.sh --recover'
    return 1
  fi
  tell_who_starts
}

# Rolls back, unless the hub has ended the trial: since then people may have stored new data.
fail_restore() {
  if ! step reject && ! is_open; then
    finish
    return
  fi
  if kept_something; then
    say 'the restore failed; rolling back to the previous data'
  else
    say 'the restore failed; undoing its steps'
  fi
  bring_back || :
  return 1
}

# Rolls back to the previous data and starts the hub on the previous data. Fails if the hub is not healthy on the
# previous data.
bring_back() {
  stop_hub || :
  if ! step undo; then
    where="The previous data, if there was any, is in $data." # a new machine had no data
    ! kept_something ||
      where="The previous data is not lost: it is in $data/pre-restore-$id, except for what is already back in $data."
    say "ROLLBACK FAILED. $where The hub stays down."
    say 'Fix the cause of the error above, then run: restore.sh --recover'
    exit 1
  fi
  if [ "$driver" = nobody ]; then
    tell_who_starts
  elif ! start_hub; then
    say 'the hub could not be started again on the data from before; see the messages above and its log'
    return 1
  elif ! await_hub; then
    say 'the hub was started on the data from before, but is not healthy; see its log'
    return 1
  fi
}

# Whether previous data is in $data/pre-restore-$id.
kept_something() {
  restore_id && [ -n "$id" ] && [ -n "$(as_owner ls -A -- "$data/pre-restore-$id" 2>/dev/null)" ]
}

# Sets $id, the id of the restore, which is in the names of its folders.
restore_id() {
  id=$(as_owner cat -- "$data/run/restore-state.json" "$data/run/restore-probation.json" 2>/dev/null |
    sed -n 's/.*"id":"\([0-9-]*\)".*/\1/p' | head -n 1)
}

# Whether a restore is under way or was interrupted before the trial of the restored data.
is_under_way() {
  [ -e "$data/run/restore-state.json" ]
}

# Whether a restore is under way or was interrupted, also during the trial of the restored data.
is_open() {
  is_under_way || [ -e "$data/run/restore-probation.json" ]
}

# Stops and undoes the staging of a backup, once the staging step has released its lock (exit code 75 until then).
# shellcheck disable=SC2317 # called by the trap
take_back() {
  go_to_the_end
  stop_child
  drop_fetched || :
  [ "$others" = no ] || return 0
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    is_under_way || return 0
    ended=0
    step state >/dev/null 2>&1 || ended=$?
    [ "$ended" -eq 75 ] || break
    sleep 1 || :
  done
  step undo || : # the state file shows whether the undo succeeded
  ! is_under_way || say 'the staged data could not be removed: run restore.sh --recover'
}

# restore WHAT: until the hub is stopped, any failure or signal leaves everything as it was.
restore() {
  if is_under_way; then others=yes; else others=no; fi # an earlier restore: leave it alone
  trap take_back EXIT
  exit_on_signals
  fetch_backup "$1"
  if [ -n "$opened" ]; then set -- "$backup" "$called"; else set -- "$backup"; fi
  run_child step begin "$@" || exit
  go_to_the_end
  drop_fetched
  trap - EXIT
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
      restore_id
      if try_hub; then finish; else fail_restore; fi
      ;;
  esac
}

# Sets $act to restore, recover or list, and names the backup to restore: $what (with the key file $key), or $restic,
# the name of a backup in the restic repository.
read_arguments() {
  act=restore what='' key='' restic=''
  while [ $# -gt 0 ]; do
    case $1 in
      --help)
        [ "$act$what$key$restic$#" = restore1 ] || wrong_usage
        usage && exit 0
        ;;
      --recover | --list)
        [ "$act" = restore ] || wrong_usage
        act=${1#--}
        ;;
      --restic)
        [ -n "${2-}" ] || wrong_usage
        restic=$2 && shift
        ;;
      --identity)
        [ -n "${2-}" ] || wrong_usage
        key=$2 && shift
        ;;
      '' | -*) wrong_usage ;;
      *)
        [ -z "$what" ] || wrong_usage
        what=$1
        ;;
    esac
    shift
  done
  case $act-${what:+backup}-${key:+key}-${restic:+restic} in
    restore-backup-- | restore-backup-key- | restore---restic | recover--- | list---) ;;
    *) wrong_usage ;;
  esac
}

# restore.sh leaves an interrupted upgrade to upgrade.sh, which uses the state files of restores too.
leave_to_upgrade() {
  grep -qs '"upgrade"' "$data/run/restore-state.json" "$data/run/restore-probation.json" || return 0
  [ "$act" != recover ] || exec sh "$root/scripts/upgrade.sh" --recover 9>&-
  give_up 'an upgrade is in progress or was interrupted: run upgrade.sh --recover; nothing was done'
}

main() {
  read_arguments "$@"
  if [ "$act" = restore ] && [ "${CONFIRM_RESTORE-}" != YES ]; then
    say "a restore replaces the hub's data: set CONFIRM_RESTORE=YES to confirm"
    exit 2
  fi
  if [ "$act" = list ]; then
    trap 'rm -rf -- "$scratch"' EXIT
    list_backups
    exit
  fi
  require_tools flock setsid find stat timeout
  setsid -w true || give_up 'setsid -w does not work here; nothing was done'
  read_hub || exit
  [ "$driver" != commands ] || proof=web # HUB_START_COMMAND may start web alone, so only web has to prove itself
  check_rights || exit
  take_lock
  leave_to_upgrade
  drop_fetched
  if [ "$act" = recover ]; then recover; else restore "$what"; fi
}

main "$@"
exit
