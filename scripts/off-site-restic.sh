# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by off-site.sh, after restic-backups.sh. $repository is BACKUP_RESTIC_REPOSITORY, which other hubs may use as
# well; $password_file and $keep are BACKUP_RESTIC_PASSWORD_FILE and BACKUP_RESTIC_KEEP. restic's exit codes say little:
# a snapshot counts as there only if another process lists it.

# Fails with the reason if the repository cannot receive a backup. Each restic takes a second of computing to open it,
# so it is opened, and a wrong password shown, only if nothing is sent right after.
restic_problem() {
  if [ -z "$scratch" ]; then
    mkdir -p -- "$data/tmp" && scratch=$(mktemp -d "$data/tmp/off-site.XXXXXX") || return
    trap 'stop_restic; rm -rf -- "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
  fi
  open_repository "$repository" "$password_file" || return
  [ "$act" = check ] || return 0
  run_restic 300 snapshots --json --no-lock || trouble "$shown cannot be listed: $(what_restic_said)" || return
  [ -z "$device" ] || [ "$device" != "$(stat -c %d -- "$data")" ] ||
    echo "off-site: note: $shown is on the same disk as DATA_DIR and would be lost with it" >&2
}

send_to_restic() {
  staged=$data/tmp/restic # a fixed name: restic finds the files of the last time by their paths
  status=0
  { stage_for_restic && put_into_restic; } || status=$?
  cd /
  rm -rf -- "$staged" & # beside what follows; the script waits for it at its end
  [ "$status" -eq 0 ] || { trouble "$shown: $name: FAILED" || return "$status"; }
  [ "$known" = known ] || look_for_older_hubs || echo "off-site: $shown: older hubs were not looked for" >&2
  # From a damaged repository nothing is removed: what is old may be all that can be restored. One that could not be read
  # for another reason, such as the time that takes, is not to grow for ever.
  if check_repository; then
    forget_old_snapshots && prune_repository && rm -f -- "$pids"
  else
    [ -z "$damaged" ] && ! grep -q 'already locked' "$scratch/restic.said" && forget_old_snapshots
    return 1
  fi
}

# A container usually has none: there the file system and the folder alone tell one hub from another.
machine_id() {
  cat /etc/machine-id 2>/dev/null || echo unknown
}

file_system_id() {
  stat -f -c %i -- "$data" 2>/dev/null || echo unknown
}

# Finds hubs whose place this one may take: they came from the same backup, and have sent to this repository.
look_for_older_hubs() {
  run_restic 300 snapshots --json --no-lock || trouble "$shown cannot be listed: $(what_restic_said)" || return
  hubctl restic look <"$scratch/restic.out"
}

# adopt_older_hubs adopt|leave [HUB]: takes over the backups of hubs of the same origin, of which those that
# BACKUP_RESTIC_KEEP does not keep are then removed, or leaves them alone.
adopt_older_hubs() {
  restic_problem && hubctl restic hub "$(machine_id)" "$(file_system_id)" >"$scratch/hub" || return
  [ "$(sed -n 2p "$scratch/hub")" = known ] || look_for_older_hubs 2>"$scratch/looked" ||
    { cat -- "$scratch/looked" >&2 && return 1; }
  hubctl restic answer "$1" "${2-}"
}

# Lays out what the snapshot is to hold: the database, its SHA256SUMS as the manifest, and the uploads that its rows
# name, without copying them. Uploads never change; one that is gone by now comes from the backup's archive.
stage_for_restic() {
  rm -rf -- "$staged" && mkdir -p -- "$staged/uploads" || return
  for file in hub.db SHA256SUMS; do
    ln -- "$dir/$file" "$staged/" 2>/dev/null || cp -p -- "$dir/$file" "$staged/" || return 3
  done
  # Beside what follows: it takes a second for each 300 MB.
  (cd -- "$staged" && grep '  hub\.db$' SHA256SUMS | sha256sum -c --strict --status) &
  aside=$! laid=yes same=yes
  lay_out_uploads || laid=
  wait "$aside" || same=
  aside=
  [ -n "$same" ] || trouble "hub.db of $name does not match its SHA256SUMS" || return 3
  [ -n "$laid" ] || return 3
}

lay_out_uploads() {
  hubctl restic staged "$staged" "$name" "$(machine_id)" "$(file_system_id)" >"$scratch/staged" ||
    trouble "$dir cannot be sent" || return
  { IFS= read -r owned && IFS= read -r known && IFS= read -r tags; } <"$scratch/staged" || return
  hub=${owned%% *} # the others are of hubs whose place this one takes
  sed 1,3d "$scratch/staged" >"$scratch/uploads"
  cd -- "$data" || return
  [ -s "$scratch/uploads" ] || return 0
  # Two cp take two thirds of the time of one. The folders are made first, since both may need the same one at once.
  cut -d / -f 1,2 "$scratch/uploads" | sort -u | (cd -- "$staged" && xargs -d '\n' mkdir -p --) || return
  xargs -d '\n' -n 1000 -P 2 cp -Pl --parents -t "$staged" -- <"$scratch/uploads" 2>"$scratch/not-linked" ||
    fetch_unlinked
}

fetch_unlinked() {
  (cd -- "$staged" && find uploads -type f) | sort >"$scratch/linked"
  sort "$scratch/uploads" | comm -23 - "$scratch/linked" >"$scratch/missing"
  (cd -- "$staged" && tar -xzf "$dir/uploads.tar.gz" -T "$scratch/missing" &&
    sed 's|^uploads/../\(.*\)|\1  &|' "$scratch/missing" | sha256sum -c --strict --quiet >&2) ||
    trouble "uploads are missing: $(head -n 3 "$scratch/not-linked" | tr '\n' ' ')"
}

# Sets $bytes to what was added to the repository: nothing if it has this backup already, as it may when one was sent
# or was cut off before.
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
  # Making a link changes a file's ctime, for which restic would read all of them again. Size, mtime and inode count.
  whole=yes
  run_unlocked "$limit" backup --host "hub-$hub" --tag "$tags" --time "$when" --ignore-ctime . || whole=
  bytes=$(stored_bytes)
  saved=$(sed -n 's/^snapshot \([0-9a-f]*\) saved$/\1/p' "$scratch/restic.out")
  [ -n "$whole" ] || trouble "restic could not make a whole snapshot: $(what_restic_said)" || drop_saved || return
  # Where a disk vanishes, restic makes the folders anew below its mount point and exits with 0.
  [ -z "$device" ] || [ "$(stat -c %d -- "$repository" 2>&1)" = "$device" ] ||
    trouble "$shown was unmounted meanwhile: remove what restic has written to the folder that is there now" || return
  is_listed "${saved:-nothing}" || drop_saved || return
  arrived_in_restic 'done, listed back and compared'
}

# Fails, after a snapshot has been removed that is not whole, as where a file could not be read (restic's exit code 3):
# its tags would have it listed as this backup, and as verified.
drop_saved() {
  [ -z "$saved" ] || run_unlocked 600 forget "$saved" ||
    trouble "$shown: snapshot $saved is not whole: remove it by restic forget $saved" || return
  return 1
}

# is_listed ID: whether another process lists the snapshot with the tags of this backup and exactly what lies ready,
# file by file. Sets $snapshot to its full id, and $plan/restic.out to restic's plan of what is to be forgotten then.
is_listed() {
  plan=$scratch/plan ready=$scratch/ready unplanned='' listed=yes settled=yes
  rm -rf -- "$plan" "$ready" && mkdir -- "$plan" && mkfifo -- "$ready" || return
  # Beside the listing: each restic takes half a second of one processor to open the repository.
  (
    desk=$plan
    trap 'stop_restic; exit 1' HUP INT TERM
    plan_forgetting || : >"$plan/failed"
    settle "$1" >"$scratch/settled"
  ) <"$ready" &
  aside=$!
  exec 7>"$ready" # waits until it is opened there, which must be before it is closed here
  run_restic "$limit" ls --json --no-lock "$1" || listed=
  [ -n "$listed" ] || kill "$aside" 2>/dev/null || :
  exec 7>&-
  wait "$aside" || settled=
  aside=
  [ -n "$listed" ] || trouble "snapshot $1 cannot be listed: $(what_restic_said)" || return
  [ ! -e "$plan/failed" ] || unplanned="it cannot be said what is to be removed: $(what_restic_said "$plan")"
  IFS= read -r snapshot <"$scratch/settled" || trouble "$name has not arrived"
}

# settle ID: compares the listing of that snapshot, once standard input ends, with what lies ready.
settle() {
  cd -- "$root" && NODE_OPTIONS=$SMALL_NURSERY exec scripts/hubctl restic settle \
    "$staged" "$hub" "$name" "$1" "$scratch/restic.out"
}

# What BACKUP_RESTIC_KEEP does not keep, as restic says without doing it.
plan_forgetting() {
  set --
  for rule in $keep; do set -- "$@" "--keep-${rule%%=*}" "${rule#*=}"; done
  for one in $owned; do set -- "$@" --tag "hub=$one"; done # of any of these
  run_restic 600 forget --dry-run --json --no-lock --group-by '' "$@"
}

# "Added to the repository: 8.260 MiB (1.260 MiB stored)", in bytes.
stored_bytes() {
  sed -n 's/^Added to the repo.*(\([0-9.]*\) \([KMGT]\{0,1\}\)i\{0,1\}B stored)$/\1 \2/p' "$scratch/restic.out" |
    awk '{ printf "%.0f\n", $1 * 1024 ^ index("KMGT", $2 == "" ? "-" : $2) }'
}

arrived_in_restic() {
  line="$snapshot  $place$name/snapshot"
  grep -qsxF -- "$line" "$ledger" || { printf '%s\n' "$line" >>"$ledger" && sync -- "$ledger"; } || return
  echo "off-site: $shown: $name: $1"
}

# run_unlocked SECONDS ARGUMENT...: the same as run_restic, but removes locks that nobody holds any more, and waits up
# to ten minutes for others.
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

# Fails unless locks were removed. This hub runs one restic that locks at a time, so a lock with a recorded process is
# that of one which was killed. Half an hour after its last renewal any lock is dead. That there is no such process here
# is not enough, although restic takes it for a proof: it may be in a container of the same host name.
remove_dead_locks() {
  dead=
  run_restic 180 list locks --no-lock || return
  ids=$(grep -xE '[0-9a-f]{64}' "$scratch/restic.out")
  for id in $ids; do
    run_restic 180 cat lock "$id" --no-lock || continue # it is gone
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

# lock_says FIELD: prints a field of the JSON that `restic cat lock` prints, one in a line.
lock_says() {
  sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$scratch/restic.out"
}

# Removes what BACKUP_RESTIC_KEEP does not keep, once a verified backup has been sent.
forget_old_snapshots() {
  [ -z "$unplanned" ] || trouble "$shown: $unplanned" || return
  hubctl restic forgettable "$hub" "$name" "$plan/restic.out" >"$scratch/forgettable" ||
    trouble "$shown: old backups were not removed" || return
  # shellcheck disable=SC2046 # one id in a line
  set -- $(cat -- "$scratch/forgettable")
  [ $# -gt 0 ] || return 0
  run_unlocked "$limit" forget "$@" ||
    trouble "$shown: old backups could not be removed: $(what_restic_said)" || return
  echo "off-site: $shown: removed old backups: $#"
}

# Frees the space of what is forgotten, and of what killed runs left, once a week; in a large repository after all of it
# has been read.
prune_repository() {
  [ "$prune" = prune ] || return 0
  run_unlocked "$limit" prune || trouble "$shown: the space of old backups was not freed: $(what_restic_said)" || return
  hubctl restic pruned
}

# Reads a repository of up to 1 GiB whole, and of a larger one the part whose turn it is, once a day: the next ones as
# well if some part has not been read for 30 days. Sets $damaged if it is damaged, and $prune.
check_repository() {
  damaged='' prune=keep
  run_restic 600 snapshots --json --no-lock && cp -- "$scratch/restic.out" "$scratch/snapshots" &&
    run_restic 600 list packs --no-lock || trouble "$shown cannot be listed: $(what_restic_said)" || return
  { hubctl restic part "$scratch/snapshots" "$scratch/restic.out" "${bytes:-0}" >"$scratch/part" &&
    read -r part prune <"$scratch/part"; } || trouble "$shown: it could not be noted what has been read" || return
  [ "$part" != - ] || return 0
  for _ in first second third fourth; do
    check_part || return
    hubctl restic good "$part" "$bytes_read" >"$scratch/part" || return
    read -r part <"$scratch/part" || return 0
  done
}

# Reads $part and sets $bytes_read, if restic says how many.
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
