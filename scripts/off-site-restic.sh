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
  checks=$data/run/restic-checks.$(printf '%s' "$repository" | cksum | tr ' ' -)
  note_last_check
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
  forget_old_snapshots && prune_repository && check_repository && rm -f -- "$pids"
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
  hubctl restic staged "$staged" "$name" >"$scratch/staged" || trouble "$dir cannot be sent" || return
  { IFS= read -r hub && IFS= read -r tags; } <"$scratch/staged" || return
  sed 1,2d "$scratch/staged" >"$scratch/uploads"
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
# file by file. Sets $snapshot to its full id, and $scratch/settled to that and those that are to be forgotten then.
is_listed() {
  plan=$scratch/plan ready=$scratch/ready unplanned='' listed=yes settled=yes
  rm -rf -- "$plan" "$ready" && mkdir -- "$plan" && mkfifo -- "$ready" || return
  # Beside the listing: each restic takes half a second of one processor to open the repository.
  (
    desk=$plan
    trap 'stop_restic; exit 1' HUP INT TERM
    plan_forgetting || { : >"$plan/failed" && echo '[]' >"$plan/restic.out"; }
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
  [ -n "$settled" ] || unplanned='old backups were not removed'
  [ ! -e "$plan/failed" ] || unplanned="it cannot be said what is to be removed: $(what_restic_said "$plan")"
  IFS= read -r snapshot <"$scratch/settled" || trouble "$name has not arrived"
}

# settle ID: compares the listing of that snapshot, once standard input ends, with what lies ready.
settle() {
  cd -- "$root" && NODE_OPTIONS=$SMALL_NURSERY exec scripts/hubctl restic settle \
    "$staged" "$hub" "$name" "$1" "$scratch/restic.out" "$plan/restic.out"
}

# What BACKUP_RESTIC_KEEP does not keep, as restic says without doing it.
plan_forgetting() {
  set --
  for rule in $keep; do set -- "$@" "--keep-${rule%%=*}" "${rule#*=}"; done
  run_restic 600 forget --dry-run --json --no-lock --tag "hub=$hub" --group-by '' "$@"
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
  # shellcheck disable=SC2046 # one id in a line
  set -- $(sed 1d "$scratch/settled")
  [ $# -gt 0 ] || return 0
  run_unlocked "$limit" forget "$@" ||
    trouble "$shown: old backups could not be removed: $(what_restic_said)" || return
  echo "off-site: $shown: removed old backups: $#"
}

# Frees the space of what is forgotten, and of what killed runs left, once a week.
prune_repository() {
  pruned=$data/run/restic-pruned
  [ -z "$(find "$pruned" -mtime -7 ! -newermt now 2>/dev/null)" ] || return 0
  run_unlocked "$limit" prune || trouble "$shown: the space of old backups was not freed: $(what_restic_said)" || return
  : >"$pruned"
}

# Reads a thirtieth of the repository a day, the part whose turn is longest ago, and a second and third one if some part
# has not been read for 30 days. A line of $checks is the number of a part and when it was read.
check_repository() {
  [ -s "$checks" ] || seq -f '%g 0' 30 >"$checks" || return
  now=$(date +%s)
  [ $((now - ${checked:-0})) -gt 72000 ] || return 0
  for _ in first second third; do
    oldest=$(parts_read | head -n 1)
    check_part "${oldest% *}" || return
    oldest=$(parts_read | head -n 1)
    [ "${oldest#* }" -gt 0 ] && [ $((now - ${oldest#* })) -gt 2592000 ] || return 0
  done
}

check_part() {
  if ! run_unlocked "$limit" check --read-data-subset="$1/30"; then
    ! grep -q 'contains errors' "$scratch/restic.said" ||
      trouble "$shown is DAMAGED: $(what_restic_said): see the handbook" || return
    trouble "$shown could not be checked: $(what_restic_said)" || return
  fi
  sed "s/^$1 .*/$1 $now/" "$checks" >"$checks.new" && mv -- "$checks.new" "$checks" && note_last_check
}

# Prints the lines of $checks, the part whose turn is longest ago first. A time in the future counts as none: a clock was
# wrong, and nothing would be read until then.
parts_read() {
  awk -v now="$(date +%s)" '{ print $1, ($2 > now ? 0 : $2) }' "$checks" 2>/dev/null | sort -n -k 2 -k 1
}

# Sets $checked to when a part was last read, for the hub's health; to nothing if none ever was.
note_last_check() {
  checked=$(parts_read | tail -n 1 | cut -d ' ' -f 2)
  [ "$checked" != 0 ] || checked=
}
