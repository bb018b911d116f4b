# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by upgrade.sh. Swaps the version of the hub while nothing runs, and swaps it back. $upgrade_dir/state has the
# phase. While $data/run/restore-state.json exists, as in a restore, nothing starts: units, npm start and backups check
# for this file. During the trial of the new version, restore-probation.json exists in place of restore-state.json.

GUARD='"phase":"upgrade"'

# Runs hubctl of the version in place, as the account that owns the data.
step() {
  # shellcheck disable=SC2086 # $apart is two words or none
  as_owner $apart sh "$root/scripts/hubctl" "$@" 9>&-
}

# Whether an upgrade or a restore is under way or was interrupted.
is_under_way() {
  [ -e "$data/run/restore-state.json" ] || [ -e "$data/run/restore-probation.json" ]
}

begin_state() {
  id=$(date -u +%Y%m%d-%H%M%S) units=own user='' touched=nothing
  kept=$data/pre-upgrade-$id
  [ "$driver" != systemd ] || remember_units
  note_phase begun && guard
}

# note_phase PHASE: writes and syncs the phase before it begins. $touched is nothing, code, or yes: code and data.
note_phase() {
  # shellcheck disable=SC2016 # expanded by that shell
  printf '%s\n' "phase=$1" "old=$old" "new=$new" "ref=$ref" "branch=$branch" "id=$id" "backup=$backup" "units=$units" \
    "user=$user" "touched=$touched" |
    as_coder sh -c 'cat >"$1.partial" && sync "$1.partial" && mv -- "$1.partial" "$1" && sync "$(dirname "$1")"' \
      sh "$upgrade_dir/state"
}

# Sets the variables of an upgrade to the state that note_phase wrote, or to empty texts if no upgrade was interrupted.
read_state() {
  phase=$(noted phase) old=$(noted old) new=$(noted new) branch=$(noted branch) id=$(noted id) backup=$(noted backup)
  units=$(noted units) user=$(noted user) touched=$(noted touched)
  ref=${ref:-$(noted ref)}
}

noted() {
  sed -n "s/^$1=//p" "$upgrade_dir/state" 2>/dev/null || :
}

# Lets the hub be started again.
lift_guard() {
  for file in "$data/run/restore-probation.json" "$data/run/restore-state.json"; do
    ! grep -qsF "$GUARD" "$file" || as_owner rm -f -- "$file" # never the files of a restore
  done
}

forget_state() {
  as_coder rm -rf -- "$upgrade_dir/state.partial" "$upgrade_dir/state" "$upgrade_dir/old_modules" "$upgrade_dir/away"
  drop_new
}

# Keeps the hub from starting from here on.
guard() {
  # shellcheck disable=SC2016 # expanded by that shell
  as_owner sh -c 'echo "$2" >"$1.partial" && sync "$1.partial" && mv -- "$1.partial" "$1" && sync "$(dirname "$1")"' \
    sh "$data/run/restore-state.json" "{$GUARD,\"seconds\":$trial_seconds}"
}

# Starts the trial of the new version: the hub may run, and has to write its heartbeats after the mtime of
# restore-probation.json. The trial starts by a single rename: after a kill, either the hub does not start, or the hub
# runs a trial, which the hub ends by itself. Fails if neither restore-state.json nor restore-probation.json exists: the
# hub has already ended a trial, and no second trial may begin.
open_trial() {
  note_phase trial || return
  if [ -e "$data/run/restore-state.json" ]; then
    as_owner touch -c -- "$data/run/restore-state.json" &&
      as_owner mv -fT -- "$data/run/restore-state.json" "$data/run/restore-probation.json" || return
  fi
  [ -e "$data/run/restore-probation.json" ] && as_owner sync "$data/run"
}

# Ends a failed trial by renaming restore-probation.json, so that no hub starts. Fails if the hub has ended the trial
# first by removing restore-probation.json.
reject_trial() {
  as_owner mv -fT -- "$data/run/restore-probation.json" "$data/run/restore-state.json" 2>/dev/null ||
    [ -e "$data/run/restore-state.json" ] || return
  as_owner sync "$data/run"
}

# Copies the database, with the write-ahead log that a killed process may have left.
keep_data() {
  as_owner mkdir -p -m 0700 -- "$kept" || return
  for file in hub.db hub.db-wal hub.db-journal; do
    [ ! -e "$data/$file" ] || as_owner cp --reflink=auto -- "$data/$file" "$kept/$file" || return
  done
  as_owner sync "$kept"/* "$kept"
}

# Puts the kept database of the old version back. SQLite must never find the new version's write-ahead log beside the
# old database, so the log is removed first. bring_data_back can be interrupted at any moment and repeated.
bring_data_back() {
  if [ "$touched" = yes ]; then
    if as_owner test -e "$kept/hub.db"; then
      as_owner rm -f -- "$data/hub.db-wal" "$data/hub.db-shm" "$data/hub.db-journal" &&
        as_owner mv -- "$kept/hub.db" "$data/hub.db" || return
    fi
    for file in hub.db-wal hub.db-journal; do
      ! as_owner test -e "$kept/$file" || as_owner mv -- "$kept/$file" "$data/$file" || return
    done
    as_owner sync "$data" || return
  fi
  as_owner rm -rf -- "$kept"
}

# Puts the new version in place: its files, its packages if they differ, and its Node.
switch_code() {
  touched=code
  note_phase switching || return
  as_coder git checkout --quiet --detach "$new" || return
  if ! as_coder cmp -s package-lock.json node_modules/.installed-lock.json; then
    as_coder mv -- node_modules "$upgrade_dir/old_modules" && as_coder mv -- "$beside/node_modules" node_modules || return
  fi
  for version in "$beside"/.runtime/node-*; do
    [ -h "$version" ] || [ ! -d "$version" ] || as_coder mv -- "$version" .runtime/ || return
  done
}

# A killed git leaves files of the new version that its index does not have yet. With the new version as the index, git
# removes all that the old version lacks, and nothing else: not the operator's own files.
switch_code_back() {
  [ "$touched" != nothing ] || return 0
  unlock_git && as_coder git read-tree --reset "$new" && as_coder git checkout --quiet --force --detach "$old" || return
  drop_empty_folders
  if [ -e "$upgrade_dir/old_modules" ]; then
    as_coder rm -rf -- "$upgrade_dir/away" && { [ ! -e "$root/node_modules" ] || as_coder mv -- node_modules "$upgrade_dir/away"; } &&
      as_coder mv -- "$upgrade_dir/old_modules" node_modules || return
  fi
  [ -z "$branch" ] || as_coder git symbolic-ref HEAD "refs/heads/$branch"
}

# Removes the folders of the new version that a killed git has made and not filled.
drop_empty_folders() {
  as_coder git ls-tree -rd --name-only "$new" | sort -r | as_coder xargs -rd '\n' rmdir -- 2>/dev/null || :
}

# Removes the locks of a killed git: only this script uses git here.
unlock_git() {
  for lock in index HEAD "refs/heads/${branch:-none}"; do
    as_coder rm -f -- "$(as_coder git rev-parse --git-path "$lock.lock")" || return
  done
}

# Mends a mixture of both versions, which a kill during a switch may leave. In phase switching no hub runs. In phase
# undoing the new version may still run: missing files of the new version are put back, so that its scripts can stop the
# new version.
mend_code() {
  [ -z "$phase" ] || unlock_git || return
  [ "$touched" != nothing ] || return 0
  case $phase in
    switching) switch_code_back ;;
    undoing)
      as_coder git checkout --quiet --force --detach HEAD || return
      [ -e "$root/node_modules" ] || as_coder mv -- "$upgrade_dir/old_modules" node_modules
      ;;
  esac
}

# Moves the clone's branch to the new version. If the operator chose the version by --to, no branch is moved or checked
# out.
follow_branch() {
  [ -n "$branch" ] && [ -z "$ref" ] || return 0
  [ "$(as_coder git rev-parse "refs/heads/$branch")" = "$new" ] ||
    as_coder git update-ref "refs/heads/$branch" "$new" "$old" || { unlock_git; return 0; } # the branch was moved meanwhile
  as_coder git symbolic-ref HEAD "refs/heads/$branch"
}

# Applies the migrations of the new version, without a time limit: no process waits for them.
migrate_data() {
  touched=yes
  note_phase migrating || return
  # shellcheck disable=SC2086 # $unsafe is a word or none
  step migrate $unsafe >&2
}

# Sets $user and $units: own if install-systemd.sh of this version would install the same units, else changed.
remember_units() {
  user=$(systemctl show -p User --value "$WEB")
  units=own
  same_units || units=changed
}

# Whether the installed units equal the units that the version in place would install.
same_units() {
  image=$(mktemp -d) && mkdir "$image/etc" || return
  status=0
  install_units --root "$image" >/dev/null 2>&1 || status=1
  for unit in "$image"/etc/systemd/system/content-hub-*.*; do
    [ ! -f "$unit" ] || cmp -s "$unit" "/etc/systemd/system/${unit##*/}" || status=1
  done
  rm -rf -- "$image"
  return "$status"
}

install_units() {
  [ ! -e /etc/systemd/system/content-hub-clamd-bridge.service ] || set -- --with-bridge "$@"
  sh "$root/scripts/install-systemd.sh" --user "$user" "$@" 8>&- 9>&-
}

# Installs the units of the new version; web and worker do not start yet. Units that were changed by hand stay.
switch_units() {
  [ "$driver" = systemd ] || return 0
  if [ "$units" = changed ]; then
    same_units || say 'the units were changed by hand and stay as they are; compare them with install-systemd.sh --dry-run'
  elif ! same_units; then
    install_units >&2
  fi
}

switch_units_back() {
  if [ "$driver" = systemd ] && [ "$units" = own ] && ! same_units; then install_units >&2 || :; fi
}
