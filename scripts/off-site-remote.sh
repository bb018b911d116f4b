# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by off-site.sh: sends a backup to BACKUP_RCLONE_REMOTE ($remote), which no other hub uses. Of rclone's exit
# codes, only 0 and 3 (no such folder) have the same meaning in all versions of rclone.

# Runs rclone in the background, so that a signal to the script ends rclone at once.
run_rclone() {
  run_child feed_rclone "$@" </dev/null
}

feed_rclone() {
  TMPDIR=$scratch rclone --ask-password=false --contimeout=20s --timeout=2m --retries=3 --low-level-retries=5 \
    --stats=0 --log-level=ERROR "$@"
}

# list REMOTE_FOLDER: prints the names in REMOTE_FOLDER, or nothing if the folder does not exist.
list() {
  run_rclone lsf "$1" 2>"$scratch_said" || [ $? -eq 3 ]
}

# Fails with the reason if the remote cannot receive a backup. Lists the remote, which finds a wrong password.
remote_problem() {
  command -v rclone >/dev/null || trouble 'rclone is not installed, but BACKUP_RCLONE_REMOTE requires it' || return
  known=$(feed_rclone listremotes 2>&1 </dev/null) || trouble "rclone cannot read its configuration: $known" || return
  printf '%s\n' "$known" | grep -qxF -- "${remote%%:*}:" ||
    trouble "rclone's configuration has no remote ${remote%%:*}: (BACKUP_RCLONE_REMOTE)" || return
  said=$(timeout 180 rclone --ask-password=false --contimeout=20s --timeout=30s --retries=1 --low-level-retries=2 \
    --log-level=ERROR lsf --dirs-only "$remote" 2>&1 </dev/null) || [ $? -eq 3 ] ||
    trouble "$remote cannot be listed: $said"
}

send_to_remote() {
  final=$place$name partial=$place.partial-$name
  scratch_said=$scratch/rclone.said
  list "$final" >"$scratch/there" || { trouble "$final: FAILED: $(cat "$scratch_said")" || return; }
  there=$(cat "$scratch/there")
  if [ -n "$there" ]; then
    remote_holds_same ||
      trouble "$final exists with different content: not overwritten, this backup was NOT copied" || return 3
    arrived "$hash" "$file" "$bytes" 'already there and identical'
    return
  fi
  remove_leftovers
  if { put_on_remote && about_to_arrive "$hash" "$file" && run_rclone moveto "$partial" "$final" &&
    is_on_remote; } 2>"$scratch/said"; then
    arrived "$hash" "$file" "$bytes" 'done, read back and compared'
  else
    run_rclone purge "$partial" 2>/dev/null || :
    not_sent
  fi
}

# Copies the backup to $partial, reads it back, and sets $file and $hash: the file whose hash covers the whole copy. An
# encrypted copy is streamed from age to rclone and not written to a disk here. rclone 1.60 reports success even for a
# stream that broke off, so only a copy that was read back counts as sent.
put_on_remote() {
  if [ -n "$recipient" ]; then
    file=$SEALED
    has_room_to_spool || return
    seal_into feed_rclone rcat "$partial/$file" || return
    sent="$hash $bytes"
    read_back "$partial/$file"
    [ "$hash $bytes" = "$sent" ] || trouble "$partial/$file differs when read back"
  else
    file=SHA256SUMS hash=$(hash_of "$dir/SHA256SUMS") bytes=$(bytes_in "$dir")
    run_rclone copy "$dir" "$partial" && run_rclone check --download "$dir" "$partial"
  fi
}

is_on_remote() {
  if [ -n "$recipient" ]; then
    run_rclone lsf --format sp --separator ' ' "$final" >"$scratch/there" || :
    [ "$(cat "$scratch/there")" = "$bytes $file" ]
  else
    run_rclone check "$dir" "$final"
  fi
}

# Whether TMPDIR has room for a whole encrypted copy and a further gigabyte. rclone stores the copy in TMPDIR first if
# the remote takes no streams.
has_room_to_spool() {
  run_rclone backend features "$remote" >"$scratch/features" 2>/dev/null || :
  grep -q '"PutStream": false' "$scratch/features" || return 0
  free=$(df -Pk -- "$scratch" | awk 'NR == 2 { print $4 }') needed=$(($(bytes_in "$dir") / 1024 + 1048576))
  [ "$free" -gt "$needed" ] ||
    trouble "$remote takes no streams, and for a copy on this disk $needed KiB are needed, $free KiB are free"
}

# Whether $final is the copy of this backup. Sets $file and $hash, the file whose hash covers the whole copy, and
# $bytes, the size of the copy. Object storage moves a folder file by file: this function first moves files that a
# killed run has left in $partial.
remote_holds_same() {
  if [ -n "$recipient" ]; then
    file=$SEALED
    [ "$there" = "$file" ] && read_back "$final/$file" && is_ours "$hash" "$file"
  else
    file=SHA256SUMS hash=$(hash_of "$dir/SHA256SUMS") bytes=$(bytes_in "$dir")
    if is_ours "$hash" "$file" && list "$partial" >"$scratch/there" && [ -s "$scratch/there" ]; then
      run_rclone moveto "$partial" "$final" && { run_rclone rmdirs "$partial" 2>/dev/null || :; }
    fi
    run_rclone check --download "$dir" "$final"
  fi
}

# Downloads a file, and sets $hash and $bytes to the file's hash and size.
read_back() {
  run_child read_through "$1"
  hash=$(cut -c 1-64 "$scratch/hash") bytes=$(($(cat "$scratch/bytes")))
}

read_through() {
  { feed_rclone cat "$1" </dev/null | tee /dev/fd/5 | sha256sum >"$scratch/hash"; } 5>&1 | wc -c >"$scratch/bytes"
}

# Removes the partial copies of interrupted runs from the remote.
remove_leftovers() {
  list "$remote" >"$scratch/there" || :
  grep -xE '\.partial-[0-9]{8}-[0-9]{6}/' "$scratch/there" >"$scratch/leftovers" || :
  while IFS= read -r leftover; do
    run_rclone purge "$place${leftover%/}" || :
  done <"$scratch/leftovers"
}
