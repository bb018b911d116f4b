# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by drill.sh, after fetch-backup.sh: finds the newest copy at $destination, and fetches the copy into $opened
# or only reads and compares the copy. The list of copies that off-site.sh has sent says which copy is the newest, and
# its hash.

# Sets $name, $file and $hash of the newest copy that was sent to $place. Ignores copies whose names lie more than a day
# in the future.
find_newest() {
  newest=$(as_owner cat -- "$data/backups/off-site.sent" 2>/dev/null |
    PLACE=$place TOMORROW=$(date -u -d tomorrow +%Y%m%d-%H%M%S) awk 'BEGIN { at = 67 + length(ENVIRON["PLACE"]) }
      index($0, ENVIRON["PLACE"]) == 67 && substr($0, at, 15) < ENVIRON["TOMORROW"] {
        print substr($0, at), substr($0, 1, 64) }' |
    grep -E '^[0-9]{8}-[0-9]{6}/[^/ ]+ [0-9a-f]{64}$' | sort -s -t / -k 1,1 | tail -n 1) || :
  [ -n "$newest" ] || give_up "no copy has been sent to $destination yet: run ./scripts/backup.sh"
  name=${newest%%/*} hash=${newest##* } file=${newest#*/} && file=${file% *}
}

# Reads an encrypted copy and compares its hash with the hash that was noted when the copy was sent.
compare_sealed() {
  if [ "$destination" = dir ]; then set -- cat --; else choose_reader "$place" && set -- run_rclone cat; fi
  run_child hash_output "$@" "$place$name/$SEALED"
  [ -e "$scratch/read" ] || give_up "$place$name could not be fetched: $(tail -n 1 "$scratch/said")"
  [ "$(cut -c 1-64 "$scratch/hash")" = "$hash" ] || give_up "$place$name differs from what was sent"
}

hash_output() {
  { "$@" 2>"$scratch/said" </dev/null && : >"$scratch/read"; } | sha256sum >"$scratch/hash"
}

# Sets $backup, the folder of the fetched copy.
fetch_copy() {
  called=$place$name
  case $destination-$file in
    restic-*)
      run_child sh "$root/scripts/restic-backups.sh" list >"$scratch/list" 2>"$scratch/said" ||
        give_up "$(tail -n 1 "$scratch/said" | sed 's/^restic-backups: //')"
      found=$(awk -v id="$hash" '$3 == id { print $2 "/" $1, $4 }' "$scratch/list")
      [ -n "$found" ] || give_up "the snapshot of $called that was sent cannot be found in the repository"
      size=${found#* }
      [ "$size" != - ] || size=0
      require_room "$size"
      fetch_from_restic "${found% *}"
      ;;
    rclone-*) fetch_remote "$called" ;;
    dir-"$SEALED") fetch_sealed "$called" ;;
    dir-*)
      timeout -k 5 60 stat -- "$called" >/dev/null 2>&1 || give_up "$called is missing: is the disk mounted?"
      fetch_folder "$called"
      ;;
  esac
  [ "$file" != SHA256SUMS ] || [ "$(sha256sum <"$backup/SHA256SUMS" | cut -c 1-64)" = "$hash" ] ||
    give_up "$called differs from what was sent"
}
