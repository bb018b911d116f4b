#!/bin/sh
# Usage: restic-backups.sh list | fetch NAME [FOLDER]
# list prints a line for each backup in the restic repository (BACKUP_RESTIC_REPOSITORY), the oldest first: name, hub,
# snapshot, bytes, schema, when it was verified; "-" if unknown. In place of the time of verification, "checking" means
# that restic has not yet read back the whole backup, "damaged" that the repository is damaged.
# fetch turns a backup in the repository into a folder with hub.db, uploads.tar.gz and SHA256SUMS, in BACKUP_DIR or in
# FOLDER, which must be inside DATA_DIR. Verify the fetched folder before use. NAME is HUB/NAME if several hubs have a
# backup of that name.
# A new machine needs nothing but the repository's address and its password.

# Other scripts source this file after common.sh. The sourcing script sets $data, $scratch (a temporary folder), $limit
# (seconds that restic may take) and a function `trouble` that prints a problem and fails.

# shellcheck disable=SC2154
# Never taken from the environment, because traps send signals to $running and remove the folders.
running='' beside='' fetched=''

# open_repository REPOSITORY PASSWORD_FILE: exports both for restic and sets $shown, the address without its password.
# Fails with the reason if the repository cannot be used.
open_repository() {
  shown=$(without_password "$1")
  pids=$data/run/restic.pids # processes of this hub's restic that may have left a lock
  device=''
  command -v restic >/dev/null || trouble 'restic is not installed, but BACKUP_RESTIC_REPOSITORY requires it' || return
  [ -f "$2" ] && [ -r "$2" ] && [ -s "$2" ] ||
    trouble "BACKUP_RESTIC_PASSWORD_FILE: $2 is missing, empty, or cannot be read" || return
  case $1 in
    /*)
      timeout -k 5 60 stat -- "$1/." >/dev/null 2>&1 || [ $? -lt 124 ] ||
        trouble "BACKUP_RESTIC_REPOSITORY $1 does not answer: is its server reachable?" || return
      [ -f "$1/config" ] ||
        trouble "BACKUP_RESTIC_REPOSITORY: there is no restic repository in $1: is the disk mounted?" \
          "$(how_to_begin "$1" "$2")" || return
      # shellcheck disable=SC2034 # for off-site-restic.sh
      device=$(stat -c %d -- "$1") || return
      ;;
    rclone:*)
      command -v rclone >/dev/null ||
        trouble 'rclone is not installed, but BACKUP_RESTIC_REPOSITORY requires it' || return
      ;;
  esac
  # TZ: restic counts days in local time, names of backups are in UTC. A killed `restic check` leaves a copy of restic's
  # cache, which is removed here.
  export RESTIC_REPOSITORY="$1" RESTIC_PASSWORD_FILE="$2" RESTIC_CACHE_DIR="$data/cache/restic" TZ=UTC
  mkdir -p -- "$data/cache" "$data/run" && rm -rf -- "$data"/cache/restic/restic-check-cache-*
}

# how_to_begin REPOSITORY PASSWORD_FILE: prints how to make a new repository. If the repository's disk seems not to be
# mounted, prints the reason and no command: a new repository would fill the disk below the mount point.
how_to_begin() {
  ! grep -qsF -- "  $1/" "$data/backups/off-site.sent" || { echo 'It held copies before.' && return; }
  near=$1
  until [ -d "$near" ]; do near=$(dirname -- "$near"); done
  case $(stat -c %d -- "$near") in
    "$(stat -c %d /)" | "$(stat -c %d -- "$data")") echo "$near is on the system's disk or on that of DATA_DIR." ;;
    *) echo "A new one is made by: restic -r '$1' --password-file '$2' init" ;;
  esac
}

# run_restic SECONDS ARGUMENT...: runs restic; its output is in $scratch/restic.out and restic.said. At the time limit
# restic gets SIGINT, because restic removes its lock at SIGINT, but leaves its lock at SIGTERM.
run_restic() {
  seconds=$1 code=0 noted=$pids
  shift
  case " $* " in *' --no-lock '*) noted=/dev/null ;; esac
  # shellcheck disable=SC2016 # for the inner shell
  timeout -s INT -k 30 "$seconds" sh -c 'echo "$(uname -n) $$" >>"$0" && exec restic "$@"' "$noted" "$@" \
    </dev/null >"$scratch/restic.out" 2>"$scratch/restic.said" &
  running=$!
  wait "$running" || code=$?
  running=
  [ "$code" -ne 124 ] || echo "restic: stopped: time limit of $seconds s exceeded" >>"$scratch/restic.said"
  return "$code"
}

# For traps: stops restic.
stop_restic() {
  [ -z "$running" ] || kill -INT "$running" 2>/dev/null || :
  wait
  running=
}

# Prints restic's last messages in one line, without passwords, and what to do about them.
what_restic_said() {
  ! says_damage "$scratch/restic.said" || printf '%s' 'DAMAGED: backups in it may be lost, and nothing is removed' \
    ' from it; to repair it, see "A damaged restic repository" in scripts/README.md: '
  # Leaves out the lines of a stack trace.
  sed 's|//[^/@ ]*@|//|g' "$scratch/restic.said" | grep -vE '^$|^	|^(github\.com/|main\.|runtime\.)' |
    tail -n 4 | tr '\n' ' '
  ! grep -q 'wrong password' "$scratch/restic.said" || printf '%s' '(the password in BACKUP_RESTIC_PASSWORD_FILE)'
  ! grep -q 'no space left' "$scratch/restic.said" || printf '%s' '(the repository is full: see the handbook)'
}

# says_damage FILE: whether restic's messages in FILE mean damage in the repository.
says_damage() {
  grep -qE 'contains errors|LoadIndex returned errors|verification failed|is damaged|invalid data|Unmarshal' "$1"
}

# Writes restic's list of snapshots to $scratch/restic.out. Takes no lock, so that a read-only repository can be listed.
list_snapshots() {
  run_restic 300 snapshots --json --no-lock "$@" || trouble "$shown cannot be listed: $(what_restic_said)"
}

# read_snapshots TAGS: sets $snapshots to the lines that list prints, of all snapshots if TAGS is empty.
read_snapshots() {
  list_snapshots ${1:+--tag "$1"} || return
  snapshots=$(hubctl restic snapshots <"$scratch/restic.out") || trouble "$shown cannot be listed" || return
}

hubctl() {
  sh "$root/scripts/hubctl" "$@"
}

# Removes the folders of killed runs in DATA_DIR/tmp. A run of restic-backups.sh holds a shared lock while it needs its
# temporary folder.
drop_unfinished() {
  (
    exec 8>>"$data/run/restic-backups.lock"
    ! flock -n 8 || rm -rf -- "$data"/tmp/restic.??????
  )
}

# fetch_restic NAME FOLDER: turns a snapshot into a backup folder. Works in $beside, if that is set, else in $scratch,
# and leaves nothing if it fails.
fetch_restic() {
  read_snapshots '' && find_snapshot "$1" || return
  fetched=$(mktemp -d "${beside:-$scratch}/restic-fetch.XXXXXX") || return
  if has_room_for "$size" && run_fetch && mv -T -- "$fetched/made" "$2"; then
    rm -rf -- "$fetched"
  else
    rm -rf -- "$fetched"
    trouble "$1 could not be fetched from $shown"
  fi
}

# Sets $snapshot and $size of the backup NAME or HUB/NAME.
find_snapshot() {
  found=$(printf '%s\n' "$snapshots" | awk -v wanted="$1" '$1 == wanted || $2 "/" $1 == wanted { print $2, $3, $4 }')
  [ -n "$found" ] || trouble "there is no backup $1 in $shown" || return
  hubs=$(printf '%s\n' "$found" | cut -d ' ' -f 1 | sort -u)
  [ "$(printf '%s\n' "$hubs" | grep -c .)" -eq 1 ] ||
    trouble "several hubs have a backup $1 in $shown: say which:" \
      "$(printf '%s\n' "$hubs" | sed "s|\$|/$1|" | tr '\n' ' ')" || return
  found=$(printf '%s\n' "$found" | tail -n 1)
  size=${found##* } snapshot=${found#* } && snapshot=${snapshot% *}
}

# Whether there is room for the files and for the archive made from the files.
has_room_for() {
  [ "$1" != - ] || return 0
  free=$(df -B1 --output=avail -- "$data/tmp" | tail -n 1)
  [ "$free" -gt $(($1 * 2)) ] ||
    trouble "not enough disk space in $data/tmp: $(($1 * 2 / 1048576)) MiB are needed, $((free / 1048576)) are free"
}

run_fetch() {
  run_restic "$limit" restore "$snapshot" --target "$fetched/snapshot" --no-lock ||
    trouble "snapshot $snapshot could not be restored whole: $(what_restic_said)" || return
  hubctl restic pack "$fetched/snapshot" "$fetched/made" && mv -- "$fetched/snapshot/hub.db" "$fetched/made/"
}

# The rest runs only when this file is executed, not when it is sourced.

restic_backups() {
  set -eu
  umask 077
  export LC_ALL=C
  case $#-${1-} in
    1---help) usage && exit 0 ;;
    1-list | 2-fetch | 3-fetch) ;;
    *) wrong_usage ;;
  esac
  read_settings data=DATA_DIR backups=BACKUP_DIR limit=BACKUP_TIMEOUT_SECONDS repository=BACKUP_RESTIC_REPOSITORY \
    password_file=BACKUP_RESTIC_PASSWORD_FILE || exit
  [ -n "$repository" ] || trouble 'BACKUP_RESTIC_REPOSITORY is not set' || exit
  . "$root/scripts/as-owner.sh"
  go_on_as_owner "$data" "$root/scripts/restic-backups.sh" "$@"
  mkdir -p -- "$data/run" "$data/tmp" "$data/backups"
  drop_unfinished
  exec 8>>"$data/run/restic-backups.lock"
  flock -s 8 || trouble "flock (util-linux) is missing or cannot lock $data/run/restic-backups.lock" || exit
  scratch=$(mktemp -d "$data/tmp/restic.XXXXXX")
  trap 'trap "" HUP INT TERM; stop_restic; rm -rf -- "$scratch" ${fetched:+"$fetched"}' EXIT
  trap 'exit 1' HUP INT TERM
  open_repository "$repository" "$password_file" || exit
  if [ "$1" = list ]; then
    read_snapshots '' || exit
    [ -z "$snapshots" ] || printf '%s\n' "$snapshots"
  else
    beside=${3-} into=${3:-$backups}/${2##*/}
    [ ! -e "$into" ] || trouble "$into is there already" || exit
    fetch_restic "$2" "$into" && echo "$into"
  fi
}

case ${0##*/} in
  restic-backups.sh)
    # shellcheck source=scripts/common.sh
    . "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
    trouble() {
      echo "restic-backups: $*" >&2
      return 1
    }
    restic_backups "$@"
    ;;
esac
