#!/bin/sh
# Usage: upgrade.sh [--to REF | --from ARCHIVE] [--allow-unsafe]
#        upgrade.sh --recover
# Upgrades the hub in this clone to the newest commit of its branch, or to REF: a tag, a branch or a commit, or to the
# version in ARCHIVE, a file of release.sh with SHA256SUMS beside it. With UPGRADE_VERIFY=signed, upgrade.sh upgrades
# only to a tag, or to an archive, that a key in UPGRADE_SIGNERS has signed. --from asks no git server and works in a
# folder without git history. While the hub still runs, the new version is fetched, set up beside the old one and tried
# on the database of a verified backup. Then the hub is stopped, its database is copied, and the new version is started
# for a trial: within a minute the new version has to read and write, and during this minute the hub stores nothing for
# anybody. If the new version fails, the old version and the copied database come back automatically.
# --allow-unsafe also applies migrations that may lose data. --recover rolls back an interrupted upgrade, or completes
# it if the new version already runs. Stops and starts the hub of npm start or the systemd units (then run it as root),
# or uses HUB_STOP_COMMAND and HUB_START_COMMAND.
# Exit 0: upgraded or recovered, or there is nothing newer. 1: failed, the old version and data are in place. 75: busy.

# All code is in functions, so that the shell has read this file completely before the upgrade replaces the file.
set -eu
umask 077
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin"

# A killed switch leaves scripts of both versions, and torn ones: those of the new version beside the hub are whole.
whole=$(dirname -- "$(readlink -f -- "$0")")/../.runtime/upgrade/new/scripts/upgrade.sh
if [ "${1-}" = --recover ] && [ -e "$whole" ] && grep -qsxE 'phase=(switching|undoing)' "${whole%/new/*}/state"; then
  exec sh "$whole" --recover
fi

# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
say() {
  echo "upgrade: $*" >&2
}
# Ends the script; only for use before the hub is stopped.
give_up() {
  say "$*; nothing was changed"
  exit 1
}

. "$root/scripts/drive-hub.sh"
. "$root/scripts/new-version.sh"
. "$root/scripts/archive-version.sh"
. "$root/scripts/switch-version.sh"
root=${root%/.runtime/upgrade/new} # after an interrupted upgrade this script may run from that folder

# Sets $act, $ref, $archive and $unsafe.
read_arguments() {
  act=upgrade ref='' archive='' unsafe=''
  while [ $# -gt 0 ]; do
    case $1 in
      --help)
        [ "$act$ref$archive$unsafe$#" = upgrade1 ] || wrong_usage
        usage && exit 0
        ;;
      --to)
        case ${2-} in '' | -*) wrong_usage ;; esac
        ref=$2 && shift
        ;;
      --from)
        case ${2-} in '' | -*) wrong_usage ;; esac
        archive=$(readlink -f -- "$2") || give_up "there is no file $2"
        shift
        ;;
      --allow-unsafe) unsafe=--allow-unsafe ;;
      --recover) act=recover ;;
      *) wrong_usage ;;
    esac
    shift
  done
  [ "$act" = upgrade ] || [ -z "$ref$archive$unsafe" ] || wrong_usage
  [ -z "$ref" ] || [ -z "$archive" ] || wrong_usage
}

# Takes the lock of upgrades. The lock that backups and restores share is taken later, after the backup.
take_turn() {
  as_coder mkdir -p -- "$upgrade_dir" || give_up "$upgrade_dir cannot be made"
  as_coder touch -- "$upgrade_dir/flock"
  exec 8<"$upgrade_dir/flock" # to read, see take_lock in drive-hub.sh
  flock -n -E 75 8 && return
  [ $? -ne 75 ] || { say 'BUSY: another upgrade is running' && exit 75; }
  give_up "flock could not lock $upgrade_dir/flock"
}

# Makes and verifies a backup, and sets $backup to its folder.
back_up() {
  say 'making a backup'
  line=$(sh "$root/scripts/backup.sh" 8>&-) || :
  line=$(printf '%s\n' "$line" | tail -n 1)
  case $line in
    'result=verified off-site=failed '* | 'result=degraded '*)
      say "the backup has a problem, see above, but holds the whole database: going on" ;;
    'result=verified '*) ;;
    'result=busy'*) say 'BUSY: another backup or restore is running; nothing was changed' && exit 75 ;;
    *) give_up 'no backup could be made' ;;
  esac
  backup=${line#* dir=}
}

# Swaps the versions. On any failure the old version comes back.
carry_out() {
  say "stopping the hub; if this is interrupted, run $root/scripts/upgrade.sh --recover"
  if stop_hub 8>&- && await_release && keep_data && (require_room_in_tree) && switch_code && migrate_data && switch_units; then
    hold_trial
  else
    take_back
  fi
}

# Runs the trial of the new version: the new version stores nothing for people yet, and has to show within a minute that
# it works.
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

# The hub has ended the trial because this script was late. Since the end of the trial, people may have stored data in
# the new version, so the new version stays.
keep_accepted() {
  say "the hub has ended the trial by itself: $(name_of "$new") stays"
  finish
}

# Brings back the old version and data, and starts the hub if it ran before. Can be repeated.
go_back() {
  # Frees space, because the disk may be full. Keeps the scripts of the new version, because upgrade.sh may run from
  # their folder.
  as_coder rm -rf -- "$beside/node_modules" "$beside/.runtime" "$beside/src" || :
  note_phase undoing || :
  { guard && as_owner rm -f -- "$data/run/restore-probation.json"; } || :
  stop_hub 8>&- || :
  if ! await_release || ! switch_code_back || ! bring_data_back; then
    say "GOING BACK FAILED. Nothing is lost: the old database is in $kept, or in its place in $data."
    say 'The hub stays down. Fix the cause of the error above, then run: upgrade.sh --recover'
    exit 1
  fi
  switch_units_back
  lift_guard
  say "the old version and data are in place again: $(name_of "$old")"
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
  echo "UPGRADED from $(name_of "$old") to $(name_of "$new"); the backup made before is $backup"
  tell_who_starts
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
  exit_on_signals
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
  begin_state || { lift_guard && forget_state && give_up "$upgrade_dir cannot be written"; }
  carry_out
}

main() {
  read_arguments "$@"
  require_tools cmp df du find flock getent git setpriv setsid stat tar timeout
  read_project
  take_turn
  read_state
  # If upgrade.sh was killed while it switched versions, hubctl may be unable to read the settings before mend_code has
  # repaired the project's files.
  [ "$act" != recover ] || mend_code || exit
  read_hub || exit
  read_settings verify=UPGRADE_VERIFY signers=UPGRADE_SIGNERS || exit
  trial_seconds=60
  [ "$patience" -ge 60 ] || trial_seconds=$patience
  limit_trial "$trial_seconds"
  kept=$data/pre-upgrade-$id
  check_rights || exit
  if [ "$act" = recover ]; then recover; else upgrade; fi
}

main "$@"
exit
