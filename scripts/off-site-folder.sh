# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by off-site.sh: sends a backup to BACKUP_OFFSITE_DIR ($folder), which no other hub uses.

# Fails with the reason if the folder BACKUP_OFFSITE_DIR cannot receive a backup. Runs stat under `timeout`, because a
# network file system whose server is gone never answers.
folder_problem() {
  timeout -k 5 60 stat -- "$folder/." >/dev/null 2>&1 || [ $? -lt 124 ] ||
    trouble "BACKUP_OFFSITE_DIR $folder does not answer: is its server reachable?" || return
  [ -d "$folder" ] || trouble "BACKUP_OFFSITE_DIR $folder does not exist: is the disk mounted?" || return
  case $(readlink -f -- "$folder")/ in
    "$(readlink -f -- "$data")"/*) trouble "BACKUP_OFFSITE_DIR $folder is inside DATA_DIR" || return ;;
    "$(readlink -f -- "$backups")"/*) trouble "BACKUP_OFFSITE_DIR $folder is inside BACKUP_DIR" || return ;;
  esac
  # If BACKUP_OFFSITE_DIR is the folder BACKUP_DIR under another name or mount, this script would take each backup for
  # an off-site copy of the backup.
  [ "$(stat -c %d:%i -- "$folder/.")" != "$(stat -c %d:%i -- "$backups/.")" ] ||
    trouble "BACKUP_OFFSITE_DIR $folder is BACKUP_DIR itself" || return
  [ -w "$folder" ] && [ -x "$folder" ] ||
    trouble "BACKUP_OFFSITE_DIR $folder is not writable: is it read-only, or owned by another account?" || return
  [ "$act" = --new-disk ] || holds_copies ||
    trouble "BACKUP_OFFSITE_DIR $folder contains none of the earlier copies: is the disk mounted?" \
      "If this is a new disk: $(quoted "$root/scripts/off-site.sh") --new-disk" || return
  disk=$(stat -c %d -- "$folder/.") || return
  [ "$act" != check ] || [ "$(stat -c %d -- "$folder")" != "$(stat -c %d -- "$data")" ] ||
    echo "off-site: note: $folder is on the same disk as DATA_DIR and would be lost with it" >&2
}

# Whether the folder contains one of the copies that the ledger names, or the ledger names none. If not, the disk is not
# mounted.
holds_copies() {
  known=$(sent_names)
  for copy in $known; do [ ! -d "$folder/$copy" ] || return 0; done
  [ -z "$known" ]
}

send_to_folder() {
  final=$place$name
  is_on_same_disk || return
  rm -f -- "$folder/.content-hub-off-site" # a mark of versions before 2.1.0
  if [ -e "$final" ] || [ -L "$final" ]; then
    folder_holds_same ||
      trouble "$final exists with different content: not overwritten, this backup was NOT copied" || return 3
    arrived "$hash" "$file" "$(bytes_in "$final")" 'already there and identical'
    return
  fi
  # Removes partial copies, also of interrupted runs.
  rm -rf -- "$folder"/.partial-[0-9]*-[0-9]*
  if { put_into_folder "$folder/.partial-$name" && is_on_same_disk &&
    about_to_arrive "$hash" "$file" && mv -T -- "$folder/.partial-$name" "$final" && sync -- "$folder"
  } 2>"$scratch/said"; then
    arrived "$hash" "$file" "$(bytes_in "$final")" 'done, read back and compared'
  else
    rm -rf -- "$folder/.partial-$name"
    not_sent
  fi
}

# Whether the disk is still mounted: copies below an empty mount point would fill the hub's own disk.
is_on_same_disk() {
  [ "$(stat -c %d -- "$folder/." 2>&1)" = "$disk" ] ||
    trouble "BACKUP_OFFSITE_DIR $folder was unmounted meanwhile: nothing more is sent"
}

# Copies the backup, reads it back, and sets $file and $hash: the file whose hash covers the whole copy.
put_into_folder() {
  mkdir -- "$1" || return
  if [ -n "$recipient" ]; then
    file=$SEALED
    seal_into write_file "$1/$file" && sync -- "$1/$file" "$1" && forget_cache "$1" &&
      [ "$(hash_of "$1/$file")" = "$hash" ]
  else
    file=SHA256SUMS
    (cd -- "$dir" && cp -- hub.db uploads.tar.gz SHA256SUMS "$1/") &&
      sync -- "$1/hub.db" "$1/uploads.tar.gz" "$1/SHA256SUMS" "$1" && forget_cache "$1" &&
      same_three_files "$1" && hash=$(hash_of "$1/$file")
  fi || trouble "$1 could not be written, or its content differs when read back"
}

write_file() {
  cat >"$1"
}

# Whether $final is the copy of this backup. Sets $file and $hash: the file whose hash covers the whole copy.
folder_holds_same() {
  if [ -n "$recipient" ]; then
    file=$SEALED
    [ "$(ls -A -- "$final")" = "$file" ] && hash=$(hash_of "$final/$file") && is_ours "$hash" "$file"
  else
    file=SHA256SUMS
    same_three_files "$final" && hash=$(hash_of "$final/$file")
  fi
}

same_three_files() {
  cmp -s -- "$dir/SHA256SUMS" "$1/SHA256SUMS" && is_whole "$1"
}

bytes_in() {
  find "$1" -type f -printf '%s\n' | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

hash_of() {
  sha256sum <"$1" | cut -c 1-64
}

# Drops the copy from the page cache, so that reading the copy back reads the disk. Some file systems cannot drop files
# from the page cache.
forget_cache() {
  for path in "$1"/*; do dd if="$path" iflag=nocache count=0 2>/dev/null || :; done
}
