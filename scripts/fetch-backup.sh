# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by restore.sh. Brings a backup from where it lies to where the hub's account can read it. What that account
# may read stays where it is; everything else streams into a private folder in DATA_DIR/tmp, which is written with that
# account's rights. Nothing of it is believed here: hubctl verifies it.

# shellcheck source=scripts/open-sealed.sh
. "$root/scripts/open-sealed.sh"

opened='' scratch=''

# fetch_backup WHAT: sets $backup to a folder. Where that is a copy made here, it lies in $opened, and $called is what
# it was made of.
fetch_backup() {
  backup=$1 called=$1
  if [ -n "$restic" ]; then
    fetch_from_restic "$restic"
    return
  fi
  case $(kind_of "$1") in
    sealed) fetch_sealed "$1" ;;
    remote)
      place=${1%/"$SEALED"}
      fetch_remote "${place%/}"
      ;;
    folder)
      called=$(readlink -f -- "$1")
      may_owner_read "$called" || fetch_folder "$called"
      ;;
  esac
}

# An rclone remote has a colon before any slash, and no file here has its name.
kind_of() {
  if [ -d "$1" ]; then
    if [ -f "$1/$SEALED" ]; then echo sealed; else echo folder; fi
  elif [ -f "$1" ]; then
    case $1 in *.age) echo sealed ;; *) [ -z "$key" ] || echo sealed ;; esac
  elif [ ! -e "$1" ]; then
    case $1 in [!/:]*:*) case ${1%%:*} in */*) ;; *) echo remote ;; esac ;; esac
  fi
}

fetch_sealed() {
  sealed=$1
  [ ! -d "$sealed" ] || sealed=$sealed/$SEALED
  [ -r "$sealed" ] || give_up "$sealed cannot be read by $(id -un)"
  called=$(readlink -f -- "$sealed")
  size=$(stat -L -c %s -- "$sealed")
  need_key "$sealed"
  require_room "$size"
  make_place
  unseal "$sealed" cat -- "$sealed"
}

need_key() {
  [ -n "$key" ] || give_up "$1 is encrypted: add --identity KEY, the file that holds the secret key"
  require_key
}

# Whether the hub's account could read the backup; always where no other account is at work.
may_owner_read() {
  [ -n "$switch" ] || return 0
  # shellcheck disable=SC2016 # for the other shell
  as_owner sh -c 'cd -- "$1" && for file in . SHA256SUMS hub.db uploads.tar.gz; do
    [ ! -e "$file" ] || [ -r "$file" ] || exit 1; done' sh "$1" 2>/dev/null
}

# As root, from a folder that the hub's account may not read. tar reads plain files only, and follows no link.
fetch_folder() {
  if [ "$(LC_ALL=C ls -A -- "$1")" != "$THREE_FILES" ] || [ -n "$(find "$1" -mindepth 1 ! -type f)" ]; then
    give_up "$1 is not a backup: it must hold the plain files hub.db, uploads.tar.gz and SHA256SUMS, and nothing else"
  fi
  require_room "$(du -sb -- "$1" | cut -f 1)"
  make_place
  backup=$opened/${1##*/}
  as_owner mkdir -m 0700 -- "$backup"
  part copy_folder "$1" || give_up "$1 could not be copied for the hub's account"
}

copy_folder() {
  {
    { tar -C "$1" -cf - -- SHA256SUMS hub.db uploads.tar.gz && echo from >&3; } |
      { as_owner tar -xf - -C "$backup" --no-same-owner --no-same-permissions && echo to >&3; }
  } 3>"$scratch/succeeded" || :
  [ "$(grep -c . "$scratch/succeeded")" -eq 2 ]
}

fetch_remote() {
  choose_reader "$1"
  part run_rclone lsf "$1" >"$scratch/there" 2>"$scratch/said" || :
  there=$(LC_ALL=C sort "$scratch/there")
  [ ! -s "$scratch/said" ] || grep -q 'directory not found' "$scratch/said" ||
    give_up "$1 cannot be listed: $(tail -n 3 "$scratch/said")"
  part run_rclone size --json "$1" >"$scratch/size" 2>/dev/null || :
  size=$(sed -n 's/.*"bytes": *\([0-9]*\).*/\1/p' "$scratch/size")
  case $there in
    "$SEALED")
      need_key "$1"
      require_room "${size:-0}"
      make_place
      unseal "$1" run_rclone cat "$1/$SEALED"
      ;;
    "$THREE_FILES")
      require_room "${size:-0}"
      make_place
      backup=$opened/${1##*[:/]}
      as_owner mkdir -m 0700 -- "$backup"
      for file in $THREE_FILES; do
        part fetch_file "$1/$file" "$backup/$file" || give_up "$1/$file could not be fetched:" \
          "$(tail -n 3 "$scratch/said" | grep . || echo "there is not enough free space in $opened")"
      done
      ;;
    *) give_up "$1 is not a backup, or there is none of that name: restore.sh --list shows what there is" ;;
  esac
}

# A remote may send more than it says that it has.
fetch_file() {
  {
    { run_rclone cat "$1" 2>"$scratch/said" && echo from >&3; } |
      { head -c "$(most_to_unpack)" && echo head >&3; } |
      { as_owner dd of="$2" bs=1M status=none && echo to >&3; }
  } 3>"$scratch/succeeded" || :
  [ "$(grep -c . "$scratch/succeeded")" -eq 3 ]
}

# restic and its password belong to the account of the hub, which that script becomes.
fetch_from_restic() {
  called="$1 of the restic repository"
  make_place
  part sh "$root/scripts/restic-backups.sh" fetch "$1" "$opened" >&2 || give_up "$called could not be fetched"
  backup=$opened/${1##*/}
}

# choose_reader REMOTE: the account of the hub has an rclone configuration for backups; on a new machine the caller may.
choose_reader() {
  command -v rclone >/dev/null || give_up "rclone is not installed; it is needed for $1"
  make_scratch
  for reader in owner caller; do
    known=$(run_rclone listremotes 2>"$scratch/said") || continue
    ! printf '%s\n' "$known" | grep -qxF -- "${1%%:*}:" || return 0
  done
  give_up "rclone's configuration has no remote ${1%%:*}:, and there is no folder $1"
}

# Of rclone's exit codes only 0 and 3 (no such folder) mean the same in all its versions.
run_rclone() {
  set -- rclone --ask-password=false --contimeout=20s --timeout=2m --retries=3 --low-level-retries=5 --stats=0 \
    --log-level=ERROR "$@"
  if [ "$reader" = owner ] && [ -n "$switch" ]; then
    set -- env HOME="$(getent passwd "$owner" | cut -d : -f 6)" "$@"
    as_owner "$@" </dev/null
  else
    "$@" </dev/null
  fi
}

# require_room BYTES: what is fetched, and then the data that is unpacked from it, which is never smaller.
require_room() {
  needed=$((2 * $1 / 1024 + 65536))
  free=$(df -Pk -- "$data" | awk 'NR == 2 { print $4 }')
  [ "$free" -ge "$needed" ] || give_up "not enough disk space in $data: this needs at least $((needed / 1024)) MiB," \
    "$((free / 1024)) MiB is free"
}

# A folder of the hub's account for the backup, and one of the caller's own for what programs say.
make_place() {
  make_scratch
  as_owner mkdir -p -m 0700 -- "$data/tmp"
  opened=$(as_owner mktemp -d -- "$data/tmp/restore.XXXXXXXXXX") || give_up "cannot create a folder in $data/tmp"
}

make_scratch() {
  [ -n "$scratch" ] || scratch=$(mktemp -d) || give_up "cannot create a folder in ${TMPDIR:-/tmp}"
}

# Removes the copies that were made here, those of runs that were killed too. Only for the holder of the lock. Tries
# twice: a program that was told to end may still be writing there.
drop_fetched() {
  [ -z "$scratch" ] || rm -rf -- "$scratch"
  scratch='' opened=''
  # shellcheck disable=SC2016 # for the other shell; not find, which wants to return to where the caller stands
  as_owner sh -c 'rm -rf -- "$1"/restore.* 2>/dev/null || { sleep 1 && rm -rf -- "$1"/restore.*; }' sh "$data/tmp" || :
}
