# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by restore.sh and drill.sh. Fetches a backup into a private folder in DATA_DIR/tmp, with the rights of the
# hub's account; restore.sh only fetches a backup that the hub's account cannot read. hubctl verifies the fetched backup
# later.

. "$root/scripts/open-sealed.sh"

opened='' scratch=''

# fetch_backup WHAT: sets $backup to the backup's folder, and $called to its name in messages. The folder of a fetched
# backup is in $opened.
fetch_backup() {
  backup=$1 called=$1
  if [ -n "$restic" ]; then
    fetch_from_restic "$restic"
    return
  fi
  case $(kind_of "$1") in
    sealed) fetch_sealed "$1" ;;
    remote)
      remote=${1%/"$SEALED"}
      fetch_remote "${remote%/}"
      ;;
    folder)
      called=$(readlink -f -- "$1")
      may_owner_read "$called" || fetch_folder "$called"
      ;;
  esac
}

# kind_of WHAT: prints which kind of backup WHAT is: sealed (an encrypted copy), folder, or remote (a copy on an rclone
# remote). The name of a copy on an rclone remote has a colon before any slash, and is not the name of a file here.
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
  find_sealed "$1"
  called=$(readlink -f -- "$sealed")
  size=$(stat -L -c %s -- "$sealed")
  require_key "$sealed"
  require_room "$size"
  make_fetch_folder
  unseal "$sealed" cat -- "$sealed"
}

# Whether the hub's account can read the backup. True if this script runs as the hub's account.
may_owner_read() {
  [ -n "$switch" ] || return 0
  # shellcheck disable=SC2016 # for the other shell
  as_owner sh -c 'cd -- "$1" && for file in . SHA256SUMS hub.db uploads.tar.gz uploads; do
    [ ! -e "$file" ] || [ -r "$file" ] || exit 1; done' sh "$1" 2>/dev/null
}

# Copies a folder that only root can read. tar follows no link here.
fetch_folder() {
  members=$(LC_ALL=C ls -A -- "$1") odd=$(find "$1" -mindepth 1 ! -type f)
  [ "$members" != "$INTERIM_FILES" ] || odd=$(find "$1" -mindepth 1 ! -type f ! -type d)
  case $odd-$members in
    "-$THREE_FILES" | "-$INTERIM_FILES") ;;
    *)
      give_up "$1 is not a backup: it must hold the plain files hub.db, uploads.tar.gz and SHA256SUMS, or in place of" \
        'the archive a folder uploads, and nothing else'
      ;;
  esac
  require_room "$(du -sb -- "$1" | cut -f 1)"
  make_fetch_folder
  backup=$opened/${1##*/}
  as_owner mkdir -m 0700 -- "$backup"
  run_child copy_folder "$1" || give_up "$1 could not be copied for the hub's account"
}

copy_folder() {
  {
    # shellcheck disable=SC2086 # names without spaces
    { tar -C "$1" -cf - -- $members && echo from >&3; } |
      { as_owner tar -xf - -C "$backup" --no-same-owner --no-same-permissions && echo to >&3; }
  } 3>"$scratch/succeeded" || :
  [ "$(grep -c . "$scratch/succeeded")" -eq 2 ]
}

fetch_remote() {
  choose_reader "$1"
  run_child run_rclone lsf "$1" >"$scratch/there" 2>"$scratch/said" || :
  there=$(LC_ALL=C sort "$scratch/there")
  [ ! -s "$scratch/said" ] || grep -q 'directory not found' "$scratch/said" ||
    give_up "$1 cannot be listed: $(tail -n 3 "$scratch/said")"
  run_child run_rclone size --json "$1" >"$scratch/size" 2>/dev/null || :
  size=$(sed -n 's/.*"bytes": *\([0-9]*\).*/\1/p' "$scratch/size")
  case $there in
    "$SEALED")
      require_key "$1"
      require_room "${size:-0}"
      make_fetch_folder
      unseal "$1" run_rclone cat "$1/$SEALED"
      ;;
    "$THREE_FILES")
      require_room "${size:-0}"
      make_fetch_folder
      backup=$opened/${1##*[:/]}
      as_owner mkdir -m 0700 -- "$backup"
      for file in $THREE_FILES; do
        run_child fetch_file "$1/$file" "$backup/$file" || give_up "$1/$file could not be fetched:" \
          "$(tail -n 3 "$scratch/said" | grep . || echo "there is not enough free space in $opened")"
      done
      ;;
    *) give_up "$1 is not a backup, or there is no backup of that name: restore.sh --list shows all backups" ;;
  esac
}

# head limits the size: a remote may send more bytes than it announced.
fetch_file() {
  {
    { run_rclone cat "$1" 2>"$scratch/said" && echo from >&3; } |
      { head -c "$(most_to_unpack)" && echo head >&3; } |
      { as_owner dd of="$2" bs=1M status=none && echo to >&3; }
  } 3>"$scratch/succeeded" || :
  [ "$(grep -c . "$scratch/succeeded")" -eq 3 ]
}

# restic-backups.sh switches to the hub's account, which can read restic's password.
fetch_from_restic() {
  called="$1 of the restic repository"
  make_fetch_folder
  run_child sh "$root/scripts/restic-backups.sh" fetch "$1" "$opened" >&2 || give_up "$called could not be fetched"
  backup=$opened/${1##*/}
}

# choose_reader REMOTE: sets $reader to the account whose rclone configuration has the remote: owner (the hub's account)
# or, as on a new machine, caller.
choose_reader() {
  command -v rclone >/dev/null || give_up "rclone is not installed; it is needed for $1"
  make_caller_folder
  for reader in owner caller; do
    known=$(run_rclone listremotes 2>"$scratch/said") || continue
    ! printf '%s\n' "$known" | grep -qxF -- "${1%%:*}:" || return 0
  done
  give_up "rclone's configuration has no remote ${1%%:*}:, and there is no folder $1"
}

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

# require_room BYTES: gives up without room for the copy and the data unpacked from it, which is at least as large.
require_room() {
  needed=$((2 * $1 / 1024 + 65536))
  free=$(df -Pk -- "$data" | awk 'NR == 2 { print $4 }')
  [ "$free" -ge "$needed" ] || give_up "not enough disk space in $data: this needs at least $((needed / 1024)) MiB," \
    "$((free / 1024)) MiB is free"
}

# Makes $opened, a folder of the hub's account for the backup, unless $opened is set, and $scratch, a folder of the
# caller for messages.
make_fetch_folder() {
  make_caller_folder
  [ -z "$opened" ] || return 0
  as_owner mkdir -p -m 0700 -- "$data/tmp"
  opened=$(as_owner mktemp -d -- "$data/tmp/restore.XXXXXXXXXX") || give_up "cannot create a folder in $data/tmp"
}

make_caller_folder() {
  [ -n "$scratch" ] || scratch=$(mktemp -d) || give_up "cannot create a folder in ${TMPDIR:-/tmp}"
}

# Removes the folders of fetched backups, also of killed runs. The caller holds the backup lock. Tries twice, because a
# program that was told to end may still be writing files into a removed folder.
drop_fetched() {
  [ -z "$scratch" ] || rm -rf -- "$scratch"
  scratch='' opened=''
  # shellcheck disable=SC2016 # for the other shell; find would fail if it may not return to the caller's folder
  as_owner sh -c 'rm -rf -- "$1"/restore.* 2>/dev/null || { sleep 1 && rm -rf -- "$1"/restore.*; }' sh "$data/tmp" || :
}
