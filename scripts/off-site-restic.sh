# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by off-site.sh, after restic-backups.sh: sends a backup to BACKUP_RESTIC_REPOSITORY ($repository), which other
# hubs may use as well. restic's exit codes are not enough: a snapshot counts as sent once a second restic process lists
# the snapshot.

# Fails with the reason if the restic repository cannot receive a backup. `off-site.sh check` also opens the repository,
# which takes restic a second; `off-site.sh send` does not need this, because sending a backup shows a wrong password
# anyway.
restic_problem() {
  if [ -z "$scratch" ]; then
    mkdir -p -- "$data/tmp" && scratch=$(mktemp -d "$data/tmp/off-site.XXXXXX") || return
    trap 'stop_restic; rm -rf -- "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
  fi
  open_repository "$repository" "$password_file" || return
  [ "$act" = check ] || return 0
  list_snapshots || return
  [ -z "$device" ] || [ "$device" != "$(stat -c %d -- "$data")" ] ||
    echo "off-site: note: $shown is on the same disk as DATA_DIR and would be lost with it" >&2
}

send_to_restic() {
  staged=$data/tmp/restic # always the same path, by which restic finds the files of the previous snapshot
  status=0
  { stage_for_restic && put_into_restic; } || status=$?
  cd /
  rm -rf -- "$staged"
  [ "$status" -eq 0 ] || { trouble "$shown: $name: FAILED" || return "$status"; }
  added=$((added + ${bytes:-0}))
  [ "$name" = "${missed##*[!0-9-]}" ] || return 0 # the repository is checked and pruned once, after the last backup
  [ "$known" = known ] || look_for_older_hubs || echo "off-site: $shown: older hubs were not looked for" >&2
  # After an interim backup, neither checks the restic repository nor removes old backups: the nightly run does both.
  [ -z "$interim" ] || return 0
  # Removes nothing from a damaged repository: its old backups may be the only backups that can be restored. If a check
  # fails without finding damage, for example at a time limit, old backups are removed all the same, or the repository
  # would fill up.
  if check_repository; then
    forget_old_snapshots && prune_repository && rm -f -- "$pids"
  else
    [ -z "$damaged" ] && ! grep -q 'already locked' "$scratch/restic.said" && forget_old_snapshots
    return 1
  fi
}

# Containers usually have no machine id: there the file system and the folder identify the hub.
machine_id() {
  cat /etc/machine-id 2>/dev/null || echo unknown
}

file_system_id() {
  stat -f -c %i -- "$data" 2>/dev/null || echo unknown
}

# Looks in the restic repository for older hubs of the same origin as this hub. The operator decides whether this hub
# takes the place of an older hub.
look_for_older_hubs() {
  list_snapshots && hubctl restic look <"$scratch/restic.out"
}

# adopt_older_hubs adopt|leave [HUB]: takes over the backups of older hubs of the same origin, so that
# BACKUP_RESTIC_KEEP applies to them as well, or leaves them alone.
adopt_older_hubs() {
  restic_problem && hubctl restic hub "$(machine_id)" "$(file_system_id)" >"$scratch/hub" || return
  [ "$(sed -n 2p "$scratch/hub")" = known ] || look_for_older_hubs 2>"$scratch/looked" ||
    { cat -- "$scratch/looked" >&2 && return 1; }
  hubctl restic answer "$1" "${2-}"
}

# Fills $staged with the snapshot's content: the database, its SHA256SUMS as the manifest, and hard links to the uploads
# that its rows name. Uploads never change. If the hub has removed an upload since the backup was made, the upload is
# taken from the backup's archive.
stage_for_restic() {
  rm -rf -- "$staged" && mkdir -p -- "$staged/uploads" || return
  for file in hub.db SHA256SUMS; do
    ln -- "$dir/$file" "$staged/" 2>/dev/null || cp -p -- "$dir/$file" "$staged/" || return 3
  done
  (cd -- "$staged" && grep '  hub\.db$' SHA256SUMS | sha256sum -c --strict --status) ||
    trouble "hub.db of $name does not match its SHA256SUMS" || return 3
  link_uploads || return 3
}

# Sets $hub, this hub's id in the repository, and $owned, the ids of this hub and of the hubs that it replaces.
link_uploads() {
  hubctl restic staged "$staged" "$name" "$(machine_id)" "$(file_system_id)" >"$scratch/staged" ||
    trouble "$dir cannot be sent" || return
  { IFS= read -r owned && IFS= read -r known && IFS= read -r tags; } <"$scratch/staged" || return
  hub=${owned%% *}
  sed 1,3d "$scratch/staged" >"$scratch/uploads"
  cd -- "$data" || return
  [ -s "$scratch/uploads" ] || return 0
  xargs -d '\n' cp -Pl --parents -t "$staged" -- <"$scratch/uploads" 2>"$scratch/not-linked" || extract_unlinked
}

extract_unlinked() {
  (cd -- "$staged" && find uploads -type f) | sort >"$scratch/linked"
  sort "$scratch/uploads" | comm -23 - "$scratch/linked" >"$scratch/missing"
  (cd -- "$staged" && take_from_backup &&
    sed 's|^uploads/../\(.*\)|\1  &|' "$scratch/missing" | sha256sum -c --strict --quiet >&2) ||
    trouble "uploads are missing: $(head -n 3 "$scratch/not-linked" | tr '\n' ' ')"
}

# Brings the files that $scratch/missing names from the backup into the current folder.
take_from_backup() {
  if [ ! -d "$dir/uploads" ]; then
    tar -xzf "$dir/uploads.tar.gz" -T "$scratch/missing"
  else
    (cd -- "$dir" && xargs -d '\n' cp -P --parents -t "$staged" -- <"$scratch/missing")
  fi
}

# Sets $bytes to the number of bytes added to the repository: 0 if an earlier run has sent this backup already.
put_into_restic() {
  if [ -e "$pids" ] || sent_names | grep -qxF -- "$name"; then
    read_snapshots "hub=$hub,name=$name" || return
    saved=$(printf '%s\n' "$snapshots" | tail -n 1 | cut -d ' ' -f 3)
    if [ -n "$saved" ] && is_listed "$saved"; then
      bytes=0
      arrived_in_restic 'already there and complete'
      return
    fi
  fi
  when=$(printf '%s\n' "$name" | sed 's/\(....\)\(..\)\(..\)-\(..\)\(..\)\(..\)/\1-\2-\3 \4:\5:\6/')
  cd -- "$staged" || return
  # Hard links change a file's ctime, after which restic would read every file again. With --ignore-ctime, restic
  # recognises unchanged files by size, mtime and inode.
  whole=yes
  run_unlocked "$limit" backup --host "hub-$hub" --tag "$tags" --time "$when" --ignore-ctime . || whole=
  bytes=$(stored_bytes)
  saved=$(sed -n 's/^snapshot \([0-9a-f]*\) saved$/\1/p' "$scratch/restic.out")
  [ -n "$whole" ] || trouble "restic could not make a whole snapshot: $(what_restic_said)" || drop_saved || return
  # If the disk vanishes, restic creates its folders again below the mount point and exits with 0.
  [ -z "$device" ] || [ "$(stat -c %d -- "$repository" 2>&1)" = "$device" ] ||
    trouble "$shown was unmounted meanwhile: remove the files that restic has written below the mount point" || return
  is_listed "${saved:-nothing}" || drop_saved || return
  arrived_in_restic 'done, listed back and compared'
}

# Removes an incomplete snapshot, such as one with an unreadable file (restic's exit code 3), and fails. An incomplete
# snapshot must not stay, because its tags would list the snapshot as a verified backup.
drop_saved() {
  [ -z "$saved" ] || run_unlocked 600 forget "$saved" ||
    trouble "$shown: snapshot $saved is incomplete: remove it by restic forget $saved" || return
  return 1
}

# is_listed ID: whether a second restic process lists the snapshot with the tags of this backup and exactly the staged
# files. Sets $snapshot to the full id of the snapshot.
is_listed() {
  run_restic "$limit" ls --json --no-lock "$1" || trouble "snapshot $1 cannot be listed: $(what_restic_said)" || return
  snapshot=$(hubctl restic compare "$staged" "$hub" "$name" "$1" "$scratch/restic.out") ||
    trouble "$name has not arrived"
}

# Prints the stored bytes of restic's line "Added to the repository: 8.260 MiB (1.260 MiB stored)".
stored_bytes() {
  sed -n 's/^Added to the repo.*(\([0-9.]*\) \([KMGT]\{0,1\}\)i\{0,1\}B stored)$/\1 \2/p' "$scratch/restic.out" |
    awk '{ printf "%.0f\n", $1 * 1024 ^ index("KMGT", $2 == "" ? "-" : $2) }'
}

arrived_in_restic() {
  note_in_ledger "$snapshot" snapshot && echo "off-site: $shown: $name: $1"
}

# run_unlocked SECONDS ARGUMENT...: runs restic like run_restic. If the repository is locked, removes the locks of ended
# processes, and waits up to ten minutes for the locks of running processes.
run_unlocked() {
  tries=0
  until run_restic "$@"; do
    grep -q 'already locked' "$scratch/restic.said" && [ "$tries" -lt 10 ] || return 1
    tries=$((tries + 1))
    cp -- "$scratch/restic.said" "$scratch/locked"
    remove_dead_locks || sleep 60
    cp -- "$scratch/locked" "$scratch/restic.said"
  done
}

# Removes the repository's locks if a lock is dead, that is, left by an ended process; fails if no lock was removed. A
# lock is dead if $pids has its process, since this hub runs one locking restic at a time, or if the lock was not
# renewed for half an hour. A lock whose process does not run here is dead for restic, but not for this function: the
# process may run in a container of the same host name.
remove_dead_locks() {
  dead=
  run_restic 180 list locks --no-lock || return
  ids=$(grep -xE '[0-9a-f]{64}' "$scratch/restic.out")
  for id in $ids; do
    run_restic 180 cat lock "$id" --no-lock || continue # the lock is gone
    host=$(lock_says hostname) pid=$(lock_says pid) since=$(lock_says time)
    age=$(($(date +%s) - $(date -d "$since" +%s)))
    if [ "$age" -gt 1800 ] || grep -qsxF -- "$host $pid" "$pids"; then
      dead="$dead, of process $pid on $host, $age s old"
    elif [ "$host" = "$(uname -n)" ] && [ ! -d "/proc/$pid" ]; then
      echo "off-site: $shown is locked by process $pid on $host, which does not run here, perhaps in a container:" \
        'if it is dead, run restic unlock' >&2
      return 1
    fi
  done
  [ -n "$dead" ] && run_restic 180 unlock && echo "off-site: $shown: removed a lock that nobody held${dead}" >&2
}

# lock_says FIELD: prints a field from the JSON of `restic cat lock`, which has one field per line.
lock_says() {
  sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$scratch/restic.out"
}

# Removes old backups as BACKUP_RESTIC_KEEP says, by restic's own plan (a dry run).
forget_old_snapshots() {
  set --
  for rule in $keep; do set -- "$@" "--keep-${rule%%=*}" "${rule#*=}"; done
  for id in $owned; do set -- "$@" --tag "hub=$id"; done # matches snapshots with any of these tags
  run_restic 600 forget --dry-run --json --no-lock --group-by '' "$@" ||
    trouble "$shown: restic could not plan which backups to remove: $(what_restic_said)" || return
  hubctl restic forgettable "$hub" "$name" "$scratch/restic.out" >"$scratch/forgettable" ||
    trouble "$shown: old backups were not removed" || return
  # shellcheck disable=SC2046 # one id in a line
  set -- $(cat -- "$scratch/forgettable")
  [ $# -gt 0 ] || return 0
  run_unlocked "$limit" forget "$@" ||
    trouble "$shown: old backups could not be removed: $(what_restic_said)" || return
  echo "off-site: $shown: removed old backups: $#"
}

# Once a week, frees the repository's space that removed snapshots and killed restic processes have left. A large
# repository is pruned only after all its parts have been read.
prune_repository() {
  [ "$prune" = prune ] || return 0
  run_unlocked "$limit" prune || trouble "$shown: the space of old backups was not freed: $(what_restic_said)" || return
  hubctl restic pruned
}

# Once a day: reads the whole repository (up to 1 GiB) or the next part of a larger repository; up to four parts if a
# part was not read for 30 days. Sets $prune, and $damaged if the repository is damaged.
check_repository() {
  damaged='' prune=keep
  list_snapshots && cp -- "$scratch/restic.out" "$scratch/snapshots" || return
  run_restic 600 list packs --no-lock || trouble "$shown cannot be listed: $(what_restic_said)" || return
  { hubctl restic part "$scratch/snapshots" "$scratch/restic.out" "$added" >"$scratch/part" &&
    read -r part prune <"$scratch/part"; } || trouble "$shown: the progress of the check could not be recorded" || return
  [ "$part" != - ] || return 0
  for _ in first second third fourth; do
    check_part || return
    hubctl restic good "$part" "$bytes_read" >"$scratch/part" || return
    read -r part <"$scratch/part" || return 0
  done
}

# Reads $part. Sets $bytes_read if restic prints it.
check_part() {
  if run_unlocked "$limit" check --read-data-subset="$part"; then
    bytes_read=$(sed -n 's/^read \([0-9]*\) bytes of data packs$/\1/p' "$scratch/restic.out")
  elif says_damage "$scratch/restic.said"; then
    damaged=yes
    hubctl restic damaged "$part"
    trouble "$shown: $(what_restic_said)"
  else
    trouble "$shown could not be checked: $(what_restic_said)"
  fi
}
