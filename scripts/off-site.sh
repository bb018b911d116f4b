#!/bin/sh
# Usage: off-site.sh check | send BACKUP_DIR [DESTINATION] | missed [DESTINATION] | adopt [--no] [HUB] | --new-disk
# Copies backups to the off-site destinations, or to one named destination: dir (BACKUP_OFFSITE_DIR), rclone
# (BACKUP_RCLONE_REMOTE) or restic (BACKUP_RESTIC_REPOSITORY). Does nothing and prints nothing if no destination is set.
# Each copy is read back and compared before it gets its final name. An existing copy is never overwritten. With
# BACKUP_AGE_RECIPIENT, only the encrypted backup.tar.gz.age leaves this machine. Results are recorded for the hub's
# health.
# check   reports whether copies could be made now
# send    sends a backup, and before it the older backups on this machine that the destination lacks
# missed  sends only the backups on this machine that the destination lacks
# adopt   this machine takes the place of older hubs of the same origin, or of HUB: BACKUP_RESTIC_KEEP then also applies
#         to the older hubs' backups in the restic repository. With --no, the older hubs' backups are left alone.
# --new-disk  sends the newest backup to BACKUP_OFFSITE_DIR, although the disk has none of the earlier copies. Any disk
#         that has one of this hub's copies counts as mounted.

set -eu
umask 077
export LC_ALL=C
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"

# Prints a problem and fails. The first problem of a destination is recorded for the hub's health.
problem='' scratch=''
trouble() {
  said=$(printf '%s\n' "$*" | hide_secrets)
  [ -n "$problem" ] || problem=$said
  printf 'off-site: %s\n' "$said" >&2
  return 1
}

# Each destination has two functions. `…_problem` fails with the reason if the destination cannot receive a backup now.
# `send_to_…` sends the backup $dir ($name) to $place$name, or finds the copy there, and sets $bytes to the copy's size.
# `send_to_…` fails with 3 if the fault lies in this backup, so that other backups may still be sent.
. "$root/scripts/off-site-seal.sh"
. "$root/scripts/off-site-folder.sh"
. "$root/scripts/off-site-remote.sh"
. "$root/scripts/restic-backups.sh"
. "$root/scripts/off-site-restic.sh"
DESTINATIONS='dir rclone restic'

# In a function: the shell reads the whole file first, so updating the file during a run does no harm.
main() {
  case $#-${1-} in
    1---help) usage && exit 0 ;;
    1-check | 1-missed) wanted=$DESTINATIONS ;;
    2-missed) wanted=$2 ;;
    2-send | 3-send) wanted=${3:-$DESTINATIONS} ;;
    1---new-disk) wanted=dir ;;
    [123]-adopt) read_answer "$@" ;;
    *) wanted=nothing ;;
  esac
  case $wanted in "$DESTINATIONS" | dir | rclone | restic) ;; *) wrong_usage ;; esac
  read_settings data=DATA_DIR backups=BACKUP_DIR days=BACKUP_RETENTION_DAYS folder=BACKUP_OFFSITE_DIR \
    remote=BACKUP_RCLONE_REMOTE recipient=BACKUP_AGE_RECIPIENT repository=BACKUP_RESTIC_REPOSITORY \
    password_file=BACKUP_RESTIC_PASSWORD_FILE keep=BACKUP_RESTIC_KEEP limit=BACKUP_TIMEOUT_SECONDS || exit
  act=$1 asked='' asked_name='' interim=''
  [ "$act" != send ] || name_backup "$2"
  [ "$act" != --new-disk ] || name_backup "$(newest_here)"
  if [ "$wanted" != "$DESTINATIONS" ]; then
    destination=$wanted
    find_place || trouble "the destination $wanted is not set: nothing is sent" || exit 2
  fi
  [ -n "$folder$remote$repository" ] || exit 0
  . "$root/scripts/as-owner.sh"
  [ "$act" != adopt ] || require_hub "$data" || exit
  go_on_as_owner "$data" "$root/scripts/off-site.sh" "$@"
  ledger=$data/backups/off-site.sent # every finished copy: hash and path, in sha256sum's format

  [ "$act" = check ] || begin_sending
  [ "$act" != adopt ] || { adopt_older_hubs "$answer" "$about" && exit 0 || exit 1; }
  failed=0
  for destination in $wanted; do
    find_place || continue
    if [ "$act" = check ]; then destination_problem || failed=1; else serve_destination || failed=1; fi
  done
  exit "$failed"
}

# Sets $answer (adopt or leave) and $about, the named older hub, if any.
read_answer() {
  wanted=restic answer=adopt about=${2-}
  [ "${2-}" != --no ] || { answer=leave about=${3-} && set -- "$1" "$about"; }
  case $#-$about in [12]- | 2-[0-9a-f]*) ;; *) wanted=nothing ;; esac
}

destination_problem() {
  case $destination in
    dir) { [ -z "$recipient" ] || seal_problem; } && folder_problem ;;
    rclone) { [ -z "$recipient" ] || seal_problem; } && remote_problem ;;
    restic) restic_problem ;;
  esac
}

# Sends the backups that the destination lacks and records the result. Checks the destination again, since hours may
# have passed.
serve_destination() {
  problem='' newest='' bytes='' added=0 unsent='' result=ok began=$(date +%s) serving=$destination
  intent=$data/run/off-site.sending.$destination # a line as in the ledger, of the copy about to get its name there
  kept=$data/run/last-offsite-$destination.json
  owed=$(sed -n 's/^{"last":{[^}]*"unsent":"\([0-9-]*\)".*/\1/p' "$kept" 2>/dev/null) || :
  missed=$(missed_backups)
  name=${missed%%[!0-9-]*}
  [ -n "$name" ] || { serving='' && return; }
  if destination_problem; then
    send_missed
  else
    result=failed unsent=$name
  fi
  record
  [ "$result" = ok ]
}

# Sends the oldest backup first. Stops at a failure that is not the backup's fault: the next backups would fail as well.
send_missed() {
  for name in $missed; do
    dir=$backups/$name status=0
    [ "$name" != "$asked_name" ] || dir=$asked
    if [ "$destination" = restic ] || is_whole "$dir"; then
      send_it || status=$?
    else
      trouble "$dir is not a complete backup: nothing is sent of it" || status=3
    fi
    [ "$status" -eq 0 ] || result=failed
    # If the copy arrived and only a later step failed, such as removing old copies, the backup counts as sent.
    if [ "$status" -eq 0 ] || { [ "$status" -ne 3 ] && sent_names | grep -qxF -- "$name"; }; then
      newest=$name
    else
      unsent=${unsent:-$name}
    fi
    case $status in 0 | 3) ;; *) return 0 ;; esac
  done
}

send_it() {
  case $destination in
    dir) send_to_folder ;;
    rclone) send_to_remote ;;
    restic) send_to_restic ;;
  esac
}

# Prints the names of the backups to send, the oldest first: backups that $place lacks, and $asked. Skips backups that
# are old enough to be removed from this machine. A new restic repository gets the newest backup first, and later no
# backup that is older than its first copy or than $owed, the oldest backup that the last run left unsent.
missed_backups() {
  oldest=0 first=0
  [ -z "$days" ] || oldest=$(date -u -d "$days days ago" +%Y%m%d-%H%M%S)
  sent_names >"$scratch/sent"
  for path in "$backups"/[0-9]*-[0-9]*; do
    [ ! -d "$path" ] || [ -L "$path" ] || printf '%s\n' "${path##*/}"
  done | backup_names >"$scratch/here"
  if [ "$destination" = restic ]; then
    first=$({ cat -- "$scratch/sent" && echo "$owed"; } | backup_names | sort | head -n 1)
    [ -n "$first" ] || first=$asked_name
    [ -n "$first" ] || first=$(tail -n 1 "$scratch/here")
  fi
  {
    grep -vxF -f "$scratch/sent" "$scratch/here" | awk -v first="$first" -v oldest="$oldest" '$0 >= first && $0 > oldest'
    [ -z "$asked" ] || printf '%s\n' "$asked_name"
  } | sort -u
}

# Prints the names of the copies at $place.
sent_names() {
  [ -f "$ledger" ] || return 0
  PLACE=$place awk 'BEGIN { place = ENVIRON["PLACE"] }
    index($0, place) == 67 { print substr($0, 67 + length(place), 15) }' "$ledger" | backup_names | sort
}

backup_names() {
  grep -xE '[0-9]{8}-[0-9]{6}' || :
}

# Prints the messages of the programs that sent $final ($scratch/said), and fails with the last of these messages, if
# any.
not_sent() {
  hide_secrets <"$scratch/said" >&2
  why=$(grep -vE '^(off-site|sha256sum): |: FAILED$' "$scratch/said" | tail -n 1)
  [ -z "$why" ] || problem=
  trouble "$final: FAILED${why:+: $why}"
}

# Records the result of serving a destination for the hub's health. Passes the problem on standard input, because other
# accounts of the machine can read command lines.
record() {
  set -- "$serving" "$result" --seconds "$(($(date +%s) - began))"
  [ -z "$newest" ] || set -- "$@" --name "$newest" --bytes "${bytes:-0}"
  [ -z "$unsent" ] || set -- "$@" --unsent "$unsent"
  [ -z "$interim" ] || set -- "$@" --interim
  [ -z "$owed" ] || sent_names | grep -qxF -- "$owed" || set -- "$@" --owed "$owed"
  serving=
  printf '%s\n' "$problem" | (cd -- "$root" && scripts/hubctl offsite-note "$@") || {
    echo "off-site: the result could not be recorded in DATA_DIR/run" >&2
    result=failed
  }
}

# Sets $asked, the backup to send in any case, and $asked_name. In restic an interim backup has the name that a nightly
# backup of its time would have. Refuses a folder whose name is not a backup's name.
name_backup() {
  asked=$(readlink -f -- "$1") || asked=
  asked_name=${asked##*/}
  case $asked_name in
    *T*Z) interim=yes asked_name=$(printf '%s\n' "$asked_name" | sed 's/-//g; s/T/-/; s/Z$//') ;;
  esac
  if [ ! -d "$asked" ] || [ -z "$(printf '%s\n' "$asked_name" | backup_names)" ]; then
    trouble "$1 is not a backup folder (YYYYMMDD-HHMMSS)" || exit 2
  fi
  [ -z "$interim" ] || [ "$wanted" = restic ] || trouble 'an interim backup is sent to restic only' || exit 2
}

# Prints the folder of the newest backup on this machine.
newest_here() {
  for path in "$backups"/[0-9]*-[0-9]*; do printf '%s\n' "$path"; done | grep -xE '.*/[0-9]{8}-[0-9]{6}' | tail -n 1
}

# Whether a folder holds exactly a backup's three regular files, and their hashes match.
is_whole() {
  [ "$(ls -A -- "$1")" = "$THREE_FILES" ] && [ -z "$(find "$1" -mindepth 1 ! -type f)" ] &&
    [ "$(grep -cE '^[0-9a-f]{64} [ *](hub\.db|uploads\.tar\.gz)$' "$1/SHA256SUMS")" = 2 ] &&
    (cd -- "$1" && sha256sum -c --strict --quiet SHA256SUMS >&2)
}

# Takes the lock, removes the remains of killed runs, and makes $scratch, which never holds plaintext.
begin_sending() {
  mkdir -p -- "$data/run" "$data/tmp" "$data/backups"
  [ -w "$data/run" ] || { trouble "$data/run is not writable: is it read-only?" || exit 1; }
  exec 9>"$data/run/off-site.lock"
  held=0 patience=0
  # A drill holds the lock while it fetches a copy: wait for the drill.
  flock -n "$data/run/drill.lock" true 2>/dev/null || patience=$limit
  flock -w "$patience" 9 || held=$?
  [ "$held" -ne 1 ] || { trouble 'BUSY: another off-site copy is running' || exit 75; }
  [ "$held" -eq 0 ] || { trouble "flock (util-linux) is missing or cannot lock $data/run/off-site.lock" || exit 1; }
  rm -rf -- "$data"/tmp/off-site.* "$data/tmp/restic"
  drop_unfinished
  scratch=$(mktemp -d "$data/tmp/off-site.XXXXXX")
  serving=
  trap 'end' EXIT
  trap 'exit 1' HUP INT TERM
}

# shellcheck disable=SC2317 # called by the trap
end() {
  trap '' HUP INT TERM # a second signal would interrupt the clean-up
  stop_child
  stop_restic
  if [ -n "$serving" ]; then
    [ -n "$problem" ] || trouble 'the copy was stopped before it was complete' || :
    result=failed
    if sent_names | grep -qxF -- "$name"; then newest=$name; else unsent=${unsent:-$name}; fi
    record
  fi
  rm -rf -- "$scratch" "$data/tmp/restic"
}

# about_to_arrive HASH FILE: notes the copy that is about to be renamed to $place$name, so that the next run recognises
# the copy if this run is killed. HASH: the hash of FILE in the copy.
about_to_arrive() {
  printf '%s  %s/%s\n' "$1" "$place$name" "$2" >"$intent" && sync -- "$intent"
}

# is_ours HASH FILE: whether this hub made the copy $place$name with that hash.
is_ours() {
  grep -qsxF -- "$1  $place$name/$2" "$ledger" "$intent"
}

# arrived HASH FILE BYTES WORDS: records the copy $place$name as finished.
arrived() {
  bytes=$3
  note_in_ledger "$1" "$2" || return
  rm -f -- "$intent"
  echo "off-site: $place$name: $4"
}

# note_in_ledger HASH FILE
note_in_ledger() {
  line="$1  $place$name/$2"
  grep -qsxF -- "$line" "$ledger" || { printf '%s\n' "$line" >>"$ledger" && sync -- "$ledger"; }
}

main "$@"
