# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by off-site.sh. $folder is BACKUP_OFFSITE_DIR, meant for this hub alone.

# Says why the folder cannot take a backup.
folder_problem() {
  [ -d "$folder" ] || trouble "BACKUP_OFFSITE_DIR $folder is not there: is the disk mounted?" || return
  case $(readlink -f -- "$folder")/ in
    "$(readlink -f -- "$data")"/*) trouble "BACKUP_OFFSITE_DIR $folder lies in DATA_DIR" || return ;;
  esac
  [ -w "$folder" ] && [ -x "$folder" ] ||
    trouble "BACKUP_OFFSITE_DIR $folder cannot be written to: is it read-only, or another account's?" || return
  # The mark goes with the disk, the ledger stays: an empty mount point has no mark.
  if [ ! -e "$folder/.content-hub-off-site" ] && grep -qsF -- "  $folder/" "$ledger"; then
    trouble "BACKUP_OFFSITE_DIR $folder does not hold what was sent before: is the disk mounted?" \
      "If it is a new one: touch '$folder/.content-hub-off-site'"
    return
  fi
  [ "$act" != check ] || [ "$(stat -c %d -- "$folder")" != "$(stat -c %d -- "$data")" ] ||
    echo "off-site: note: $folder is on the same disk as DATA_DIR and would be lost with it" >&2
}

send_to_folder() {
  final=$folder/$name
  if [ -e "$final" ] || [ -L "$final" ]; then
    folder_holds_same || trouble "$final is there with other content: it is not overwritten, this backup is NOT there"
    return
  fi
  # Also what an interrupted run left.
  rm -rf -- "$folder"/.partial-[0-9]*-[0-9]*
  if put_into_folder "$folder/.partial-$name" && : >>"$folder/.content-hub-off-site" &&
    mv -T -- "$folder/.partial-$name" "$final" && sync -- "$folder"; then
    arrived "$final" "$hash" "$file"
  else
    rm -rf -- "$folder/.partial-$name"
    trouble "$final: NOT done"
  fi
}

# Sets $hash of the $file that stands for the whole.
put_into_folder() {
  mkdir -- "$1" || return
  if [ -n "$recipient" ]; then
    file=$SEALED
    seal_into "$1/$file" && hash=$sealed_hash && sync -- "$1/$file" "$1" && forget_cache "$1" &&
      [ "$(hash_of "$1/$file")" = "$hash" ]
  else
    file=SHA256SUMS
    (cd -- "$dir" && cp -- hub.db uploads.tar.gz SHA256SUMS "$1/") &&
      sync -- "$1/hub.db" "$1/uploads.tar.gz" "$1/SHA256SUMS" "$1" && forget_cache "$1" &&
      same_three_files "$1" && hash=$(hash_of "$1/$file")
  fi || trouble "what was written to $1 is not what was read back from it, or could not be written"
}

folder_holds_same() {
  if [ -n "$recipient" ]; then
    [ "$(ls -A -- "$final")" = "$SEALED" ] &&
      grep -qsxF -- "$(hash_of "$final/$SEALED")  $final/$SEALED" "$ledger"
  else
    same_three_files "$final"
  fi && echo "off-site: $final: there already and equal"
}

same_three_files() {
  cmp -s -- "$dir/SHA256SUMS" "$1/SHA256SUMS" && is_whole "$1"
}

hash_of() {
  sha256sum <"$1" | cut -c 1-64
}

# So that reading back asks the disk and not this machine's memory; where dd cannot, it is the memory.
forget_cache() {
  for path in "$1"/*; do dd if="$path" iflag=nocache count=0 2>/dev/null || :; done
}
