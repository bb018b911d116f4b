#!/bin/sh
# Usage: restic-backups.sh list | fetch NAME [FOLDER]
# What is in the restic repository (BACKUP_RESTIC_REPOSITORY, BACKUP_RESTIC_PASSWORD_FILE). list prints a line for each
# backup of a hub, the oldest first: name, hub, snapshot, bytes, schema, when it was verified (or "checking" until all of
# it has been read since it was sent, "damaged" while the repository is); "-" if that is not known.
# fetch makes a backup's folder with hub.db, uploads.tar.gz and SHA256SUMS in BACKUP_DIR, or in FOLDER, which must be
# inside DATA_DIR; verify it before use.
# Works on a new machine too, with nothing but the repository and its password. If several hubs have a backup of that
# name, NAME is HUB/NAME.

# Also sourced, by whoever sets $root, $data, $scratch (a temporary folder) and $limit (seconds that restic may take),
# and has a function `trouble` that says what is wrong and fails.

# Of the environment none of these is taken: signals would be sent to $running and $aside, folders removed.
running='' aside='' desk='' beside='' fetched=''

# open_repository REPOSITORY PASSWORD_FILE: sets $shown, the repository without the password that an address may hold.
# Fails with the reason if it cannot be used at all.
open_repository() {
  shown=$(without_password "$1")
  pids=$data/run/restic.pids # of this hub's restic that may hold a lock, while it runs and when it was killed
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
          "A new one is made by: restic -r '$1' --password-file '$2' init" || return
      # shellcheck disable=SC2034 # for off-site-restic.sh
      device=$(stat -c %d -- "$1") || return
      ;;
    rclone:*)
      command -v rclone >/dev/null ||
        trouble 'rclone is not installed, but BACKUP_RESTIC_REPOSITORY requires it' || return
      ;;
  esac
  # Days of the policy are those of the backups' names. The cache is disposable; so is what a killed check left in it.
  export RESTIC_REPOSITORY="$1" RESTIC_PASSWORD_FILE="$2" RESTIC_CACHE_DIR="$data/cache/restic" TZ=UTC
  mkdir -p -- "$data/cache" "$data/run" && rm -rf -- "$data"/cache/restic/restic-check-cache-*
}

without_password() {
  printf '%s\n' "$1" | sed 's|//[^/@]*@|//|'
}

# run_restic SECONDS ARGUMENT...: runs restic; $scratch/restic.out and restic.said are what it printed ($desk instead of
# $scratch for one that runs beside another). It has a process group of its own, and is stopped by SIGINT alone, for
# which it removes its lock: SIGTERM leaves it.
run_restic() {
  seconds=$1 code=0 noted=$pids files=${desk:-$scratch}
  shift
  case " $* " in *' --no-lock '*) noted=/dev/null ;; esac
  # shellcheck disable=SC2016 # for the inner shell
  timeout -s INT -k 30 "$seconds" sh -c 'echo "$(uname -n) $$" >>"$0" && exec restic "$@"' "$noted" "$@" \
    </dev/null >"$files/restic.out" 2>"$files/restic.said" &
  running=$!
  wait "$running" || code=$?
  running=
  [ "$code" -ne 124 ] || echo "restic: stopped: time limit of $seconds s exceeded" >>"$files/restic.said"
  return "$code"
}

# Stops a restic that runs, and $aside, what runs beside it; for the traps of whoever sources this.
stop_restic() {
  [ -z "$aside" ] || kill "$aside" 2>/dev/null || :
  [ -z "$running" ] || kill -INT "$running" 2>/dev/null || :
  wait
  running='' aside=''
}

# what_restic_said [FOLDER]: prints in one line what restic has said, without passwords of addresses, and what to do
# about it. FOLDER is the $desk of one that ran beside another.
what_restic_said() {
  set -- "${1:-$scratch}/restic.said"
  ! says_damage "$1" || printf '%s' 'DAMAGED: backups in it may be lost, and nothing is removed from it; to repair it,' \
    ' see "A damaged restic repository" in scripts/README.md: '
  # Without the lines of a stack trace.
  sed 's|//[^/@ ]*@|//|g' "$1" | grep -vE '^$|^	|^(github\.com/|main\.|runtime\.)' | tail -n 4 | tr '\n' ' '
  ! grep -q 'wrong password' "$1" || printf '%s' '(the password in BACKUP_RESTIC_PASSWORD_FILE)'
  ! grep -q 'no space left' "$1" || printf '%s' '(the repository is full: see the handbook)'
}

# says_damage FILE: whether restic says there that what the repository holds is not what was stored.
says_damage() {
  grep -qE 'contains errors|LoadIndex returned errors|verification failed|is damaged|invalid data|Unmarshal' "$1"
}

# read_snapshots TAGS: sets $snapshots to the lines that list prints, of all snapshots if TAGS is empty. Takes no lock,
# so it may read where it may not write.
read_snapshots() {
  run_restic 300 snapshots --json --no-lock ${1:+--tag "$1"} ||
    trouble "$shown cannot be listed: $(what_restic_said)" || return
  snapshots=$(hubctl restic snapshots <"$scratch/restic.out") || trouble "$shown cannot be listed" || return
}

# For 200,000 uploads hubctl then takes 160 MiB, instead of 230 with a nursery of the usual size.
SMALL_NURSERY=--max-semi-space-size=1

hubctl() {
  (cd -- "$root" && NODE_OPTIONS=$SMALL_NURSERY exec scripts/hubctl "$@")
}

# Removes the folders in DATA_DIR/tmp of runs that were killed. Whoever makes one holds a shared lock as long as it is
# needed.
drop_unfinished() {
  (
    exec 8>>"$data/run/restic-backups.lock"
    ! flock -n 8 || rm -rf -- "$data"/tmp/restic.??????
  )
}

# fetch_restic NAME FOLDER: makes the folder of a backup out of a snapshot. Fails with the reason, and leaves nothing;
# until it is done its files lie in $beside, if that is set, else in $scratch.
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

# The files, and the archive that is made of them.
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

# What follows is for running this file itself.

restic_backups() {
  set -eu
  umask 077
  export LC_ALL=C
  case $#-${1-} in
    1---help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
    1-list | 2-fetch | 3-fetch) ;;
    *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
  esac
  root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
  values=$(hubctl config DATA_DIR BACKUP_DIR BACKUP_TIMEOUT_SECONDS BACKUP_RESTIC_REPOSITORY \
    BACKUP_RESTIC_PASSWORD_FILE) || exit
  {
    IFS= read -r data; IFS= read -r backups; IFS= read -r limit; IFS= read -r repository; IFS= read -r password_file
  } <<VALUES || :
$values
VALUES
  [ -n "$repository" ] || trouble 'BACKUP_RESTIC_REPOSITORY is not set' || exit
  # shellcheck source=scripts/as-owner.sh
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
    trouble() {
      echo "restic-backups: $*" >&2
      return 1
    }
    restic_backups "$@"
    ;;
esac
