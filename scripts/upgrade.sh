#!/bin/sh
# Usage: upgrade.sh [--to REF] [--allow-unsafe]
#        upgrade.sh --recover
# Upgrades the hub in this clone: to the newest commit of the branch that it follows, or to REF, a tag, a branch or a
# commit. While the hub still runs, the new version is fetched, set up in a folder of its own and tried on the database
# of a verified backup. Then the hub is stopped, its database kept, and the new version takes the place of the old one,
# is started and has to read and write within a minute, in which the hub stores nothing for anybody. If it does not, the
# old version and the kept database come back by themselves.
# --allow-unsafe also applies migrations that may lose data. --recover takes back an upgrade that was interrupted, or
# completes it if the new version already runs. Stops and starts the hub of npm start, the systemd units (run it as root
# then), or uses HUB_STOP_COMMAND and HUB_START_COMMAND.
# Exit 0: upgraded or recovered, or there is nothing newer. 1: failed, version and data are those of before. 75: busy.

# Everything is in functions, so the shell has read this file before the upgrade replaces it.
set -eu
umask 077
apart=
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
export PATH

usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}
say() {
  echo "upgrade: $*" >&2
}
# Before anything was stopped.
give_up() {
  say "$*; nothing was changed"
  exit 1
}

root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
# shellcheck source=scripts/drive-hub.sh
. "$root/scripts/drive-hub.sh"
# shellcheck source=scripts/new-version.sh
. "$root/scripts/new-version.sh"
# shellcheck source=scripts/switch-version.sh
. "$root/scripts/switch-version.sh"
root=${root%/.runtime/upgrade/new} # where this script lies too while it swaps the versions

# Sets $act, $ref and $unsafe.
read_arguments() {
  act=upgrade ref='' unsafe=''
  while [ $# -gt 0 ]; do
    case $1 in
      --help)
        [ "$act$ref$unsafe$#" = upgrade1 ] || wrong_usage
        usage && exit 0
        ;;
      --to)
        case ${2-} in '' | -*) wrong_usage ;; esac
        ref=$2 && shift
        ;;
      --allow-unsafe) unsafe=--allow-unsafe ;;
      --recover) act=recover ;;
      *) wrong_usage ;;
    esac
    shift
  done
  [ "$act" = upgrade ] || [ -z "$ref$unsafe" ] || wrong_usage
}

wrong_usage() {
  usage >&2
  exit 2
}

require_tools() {
  for tool in cmp df du find flock getent git setpriv setsid stat tar timeout; do
    command -v "$tool" >/dev/null || give_up "$tool is not installed"
  done
}

# One upgrade at a time, whatever it is doing; the hub's own lock is taken later, since a backup is made first.
take_turn() {
  as_coder mkdir -p -- "$place" || give_up "$place cannot be made"
  as_coder touch -- "$place/flock"
  exec 8>>"$place/flock"
  flock -n -E 75 8 && return
  [ $? -ne 75 ] || { say 'BUSY: another upgrade is running' && exit 75; }
  give_up "flock could not lock $place/flock"
}

# Keeps backups and restores away.
take_lock() {
  as_owner touch -- "$data/run/backup.flock" || give_up "$data/run cannot be written"
  exec 9>>"$data/run/backup.flock"
  flock -n -E 75 9 && return
  [ $? -ne 75 ] || { say 'BUSY: a backup or a restore is running; nothing was changed' && exit 75; }
  give_up "flock could not lock $data/run/backup.flock"
}

# Sets $backup to a backup that was just made and verified.
back_up() {
  say 'making a backup'
  line=$(sh "$root/scripts/backup.sh" 8>&-) || :
  line=$(printf '%s\n' "$line" | tail -n 1)
  case $line in
    'result=verified off-site=failed '* | 'result=degraded '*)
      say "the backup is not all it should be, see above, but holds the whole database: going on" ;;
    'result=verified '*) ;;
    'result=busy'*) say 'BUSY: another backup or restore is running; nothing was changed' && exit 75 ;;
    *) give_up 'no backup could be made' ;;
  esac
  backup=${line#* dir=}
}

# From here on signals do not end this script, and Ctrl-C does not reach a step.
go_to_the_end() {
  trap : HUP INT TERM
  apart='setsid -w'
}

# Swaps the versions. Whatever fails, the old one comes back.
carry_out() {
  say "stopping the hub; if this is interrupted, run $root/scripts/upgrade.sh --recover"
  if stop_hub 8>&- && await_release && keep_data && switch_code && migrate_data && switch_units; then
    hold_trial
  else
    take_back
  fi
}

# Runs the new version, which stores nothing yet and has to show within a minute that it can.
hold_trial() {
  if open_trial && try_hub 8>&-; then
    finish
  elif reject_trial || is_under_way; then
    take_back
  else
    keep_accepted
  fi
}

take_back() {
  say "the upgrade failed: going back to $(name_of "$old")"
  go_back || :
  return 1
}

# The hub ends a trial whose script does not. From then on it takes what people write, so nothing goes back any more.
keep_accepted() {
  say "the hub has ended the trial by itself: $(name_of "$new") stays"
  finish
}

# Brings back version and data of before, and starts the hub if it ran. Can be repeated.
go_back() {
  make_room || : # the disk may be full
  note_phase undoing || :
  close_trial || :
  stop_hub 8>&- || :
  if ! await_release || ! switch_code_back || ! bring_data_back; then
    say "GOING BACK FAILED. Nothing is lost: the database of before is in $kept, or in its place in $data."
    say 'The hub stays down. Fix the cause of the error above, then run: upgrade.sh --recover'
    exit 1
  fi
  switch_units_back
  lift_guard
  say "version and data are those of before: $(name_of "$old")"
  tell_who_starts
  started=yes
  [ "$driver" = nobody ] || { start_hub 8>&- && await_hub 8>&-; } || started=no
  forget_state
  [ "$started" = yes ] || { say 'but the hub is not healthy; see its log' && return 1; }
}

finish() {
  note_phase 'done'
  follow_branch
  lift_guard
  as_owner rm -rf -- "$kept"
  forget_state
  echo "UPGRADED from $(name_of "$old") to $(name_of "$new"); the backup of before is $backup"
  tell_who_starts
}

tell_who_starts() {
  [ "$driver" != nobody ] || say 'the hub was not running before, so it was not started; you can start it now'
}

recover() {
  if [ -z "$phase" ]; then
    lift_guard
    forget_state
    echo 'no interrupted upgrade found'
    return
  fi
  take_lock
  go_to_the_end
  say "the upgrade to $(name_of "$new") was interrupted in the phase '$phase'"
  case $phase in
    trial) if is_under_way; then hold_trial; else keep_accepted; fi ;;
    done) finish ;;
    *) go_back ;;
  esac
}

upgrade() {
  [ -z "$phase" ] || give_up 'an upgrade was interrupted: run upgrade.sh --recover first'
  ! is_under_way || give_up 'a restore was interrupted: run restore.sh --recover first'
  [ "$driver" != nobody ] || nobody_answers || exit
  trap drop_new EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  find_commits
  if [ "$new" = "$old" ]; then
    echo "already at the newest version, $(name_of "$old")"
    return
  fi
  check_space
  set_up_beside
  back_up
  try_beside
  take_lock
  go_to_the_end
  trap - EXIT
  begin_state || { lift_guard && forget_state && give_up "$place cannot be written"; }
  carry_out
}

main() {
  read_arguments "$@"
  require_tools
  read_project
  take_turn
  read_state
  # What a killed switch left may not even tell the settings.
  [ "$act" != recover ] || mend_code || exit
  read_hub || exit
  trial_seconds=60
  [ "$patience" -ge 60 ] || trial_seconds=$patience
  limit_trial "$trial_seconds"
  kept=$data/pre-upgrade-$id
  check_rights || exit
  if [ "$act" = recover ]; then recover; else upgrade; fi
}

main "$@"
exit
