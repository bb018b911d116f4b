#!/bin/sh
# Usage: drill.sh [dir|rclone|restic] [--identity KEY]
# Proves that the newest off-site copy can be restored, at every destination or at the named destination. Fetches the
# copy into a temporary folder in DATA_DIR/tmp, verifies it, restores it into a temporary hub, starts that hub and
# requests a page and a file. The temporary hub fetches and sends nothing. The hub's own data and the copies stay as they
# are.
# Without KEY, the file with the secret key, an encrypted copy is only fetched and compared with the hash that was noted
# when the copy was sent. The result of the drill is recorded for the hub's health. nightly-backup.sh runs drill.sh when
# a drill is due.
# Exit 0: the copy was restored, or was compared. 1: the drill failed. 2: wrong usage, or the destination is not set.
# 75: busy, try again. 129, 130, 143: stopped by a signal; nothing was recorded.

# shellcheck disable=SC2154 # read_settings assigns variables
set -eu
umask 077
export LC_ALL=C PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin"
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
. "$root/scripts/as-owner.sh"
. "$root/scripts/fetch-backup.sh"
. "$root/scripts/fetch-newest.sh"
name='' outcome='' began='' work=''

# give_up WORDS: ends the drill with a failure. The failure is recorded for the hub's health if the drill has begun
# ($began).
give_up() {
  problem=$(printf '%s\n' "$*" | hide_secrets)
  echo "FAILED: $problem"
  [ -z "$began" ] || outcome=failed
  exit 1
}

busy() {
  echo "drill: BUSY: $*" >&2
  exit 75
}

hubctl() {
  as_owner sh "$root/scripts/hubctl" "$@"
}

# Replaces the function require_room of fetch-backup.sh: a drill must also keep the hub's disk reserve free.
require_room() {
  hubctl drill room "$1" 2>"$scratch/said" ||
    give_up "$(tail -n 1 "$scratch/said"). Make room on the disk of DATA_DIR; DRILL_EVERY_DAYS=0 ends such drills"
}

# Takes two locks, so that only one drill runs at a time, and no drill runs while copies are sent to a destination.
take_locks() {
  as_owner mkdir -p -m 0700 -- "$data/run" "$data/tmp"
  as_owner touch -- "$data/run/drill.lock" "$data/run/off-site.lock" || give_up "$data/run cannot be written"
  exec 7<"$data/run/drill.lock" 9<"$data/run/off-site.lock" # to read, see take_lock in drive-hub.sh
  flock -n 7 || busy 'another drill is running, or flock (util-linux) is missing'
  flock -n 9 || busy 'off-site copies are being made'
}

# Removes the folders of drills, also of killed drills, and ends a temporary hub that a killed drill has left running.
drop_drills() {
  # shellcheck disable=SC2016 # for the other shell
  as_owner sh -c 'for left in "$1"/tmp/drill.*; do
    pid=$(cat "$left"/hub-scratch.*/web.pid 2>/dev/null) || pid=
    ! grep -qsF "$left/" "/proc/${pid:-none}/environ" || kill -KILL "$pid"
    rm -rf -- "$left" 2>/dev/null || { sleep 1 && rm -rf -- "$left"; }
  done' sh "$data" || :
}

# Verifies the fetched copy and runs a temporary hub on the copied data. verify-backup.sh does not inherit the lock of
# drills, so that no leftover process holds this lock after drill.sh has ended.
prove_copy() {
  ended=0
  TMPDIR=$work
  export TMPDIR
  # Calls $switch directly, not the function as_owner: a function would run in a subshell, and run_child would stop
  # waiting when a signal ends the subshell, although verify-backup.sh still runs.
  # shellcheck disable=SC2086 # words
  run_child $switch sh "$root/scripts/verify-backup.sh" --rehearse "$backup" >"$scratch/report" 2>&1 7>&- || ended=$?
  cat -- "$scratch/report"
  [ "$ended" -eq 0 ] || give_up "$called: $(tail -n 1 "$scratch/report" | sed 's/^FAILED: //')"
}

drill() {
  work=$(as_owner mktemp -d -- "$data/tmp/drill.XXXXXXXXXX") || give_up "cannot create a folder in $data/tmp"
  opened=$work/copy
  as_owner mkdir -m 0700 -- "$opened"
  [ -n "$switch" ] || { scratch=$work/messages && mkdir -- "$scratch"; }
  make_caller_folder
  if [ "$file" = "$SEALED" ] && [ -z "$key" ]; then
    compare_sealed
    outcome=compared
    echo "COMPARED: $place$name is as it was sent. Only --identity KEY proves that it can be restored."
  else
    fetch_copy
    exec 9>&-
    prove_copy
    outcome=proven
    echo "PROVEN: $called was fetched, verified and restored."
  fi
}

# shellcheck disable=SC2317 # called by the trap
end() {
  status=$?
  trap '' HUP INT TERM
  stop_child
  exec 9>&-
  drop_drills
  [ -z "$scratch" ] || rm -rf -- "$scratch"
  [ -z "$outcome" ] || printf '%s\n' "${problem-}" |
    hubctl drill note "$destination" "$outcome" --name "$name" --seconds "$(($(date +%s) - began))" ||
    { echo 'drill: the result could not be recorded in DATA_DIR/run' >&2 && status=1; }
  exit "$status"
}

# Runs this script for each destination that is set. The worst exit code counts.
drill_each() {
  worst=0
  for destination in ${folder:+dir} ${remote:+rclone} ${repository:+restic}; do
    set -- "$destination"
    [ -z "$key" ] || [ "$destination" = restic ] || set -- "$@" --identity "$key"
    ended=0
    run_child sh "$root/scripts/drill.sh" "$@" || ended=$?
    [ "$ended" -eq 0 ] || [ "$worst" -eq 1 ] || worst=$ended
  done
  exit "$worst"
}

# Sets $destination and $key.
read_arguments() {
  destination='' key='' restic=''
  while [ $# -gt 0 ]; do
    case $1 in
      --help) usage && exit 0 ;;
      --identity)
        [ -n "${2-}" ] || wrong_usage
        key=$2 && shift
        ;;
      dir | rclone | restic)
        [ -z "$destination" ] || wrong_usage
        destination=$1
        ;;
      *) wrong_usage ;;
    esac
    shift
  done
  [ "$destination-${key:+key}" != restic-key ] || wrong_usage
}

main() {
  read_arguments "$@"
  read_settings data=DATA_DIR folder=BACKUP_OFFSITE_DIR remote=BACKUP_RCLONE_REMOTE \
    repository=BACKUP_RESTIC_REPOSITORY || exit
  [ -n "$folder$remote$repository" ] || { echo 'drill: no off-site destination is set' >&2 && exit 2; }
  require_hub "$data" && find_owner "$data" && require_owner "$data" || exit
  trap stop_child EXIT
  exit_on_signals
  [ -n "$destination" ] || drill_each
  find_place || { echo "drill: the destination $destination is not set" >&2 && exit 2; }
  find_newest
  [ -z "$key" ] || require_key "$place$name"
  take_locks
  drop_drills
  trap end EXIT
  began=$(date +%s)
  drill
}

main "$@"
exit
