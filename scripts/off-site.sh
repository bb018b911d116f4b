#!/bin/sh
# Usage: off-site.sh check | send BACKUP_DIR
# Copies a backup to the off-site destinations that are set: BACKUP_OFFSITE_DIR and BACKUP_RCLONE_REMOTE. With
# BACKUP_AGE_RECIPIENT only backup.tar.gz.age leaves this machine. Each copy is read back and compared before it gets
# its final name; an existing copy is never overwritten. check reports in advance whether a copy could be made. Silent
# if no destination is set.

set -eu
umask 077
export LC_ALL=C
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}
trouble() {
  echo "off-site: $*" >&2
  return 1
}

root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
# shellcheck source=scripts/off-site-seal.sh
. "$root/scripts/off-site-seal.sh"
# shellcheck source=scripts/off-site-folder.sh
. "$root/scripts/off-site-folder.sh"
# shellcheck source=scripts/off-site-remote.sh
. "$root/scripts/off-site-remote.sh"

# In a function, so that the shell reads the whole file before it runs: updating it during a run does no harm.
main() {
  case $#-${1-} in
    1---help) usage && exit 0 ;;
    1-check | 2-send) ;;
    *) usage >&2 && exit 2 ;;
  esac
  values=$(cd -- "$root" &&
    scripts/hubctl config DATA_DIR BACKUP_OFFSITE_DIR BACKUP_RCLONE_REMOTE BACKUP_AGE_RECIPIENT) || exit
  { IFS= read -r data; IFS= read -r folder; IFS= read -r remote; IFS= read -r recipient; } <<VALUES || :
$values
VALUES
  act=$1
  [ "$act" = check ] || name_backup "$2"
  [ -n "$folder$remote" ] || exit 0
  ledger=$data/backups/off-site.sent # hash and path of every finished copy, in sha256sum's format

  [ -z "$recipient" ] || seal_problem || exit 1
  [ "$act" = check ] || begin_sending
  failed=0
  if [ -n "$folder" ]; then { folder_problem && { [ "$act" = check ] || send_to_folder; }; } || failed=1; fi
  if [ -n "$remote" ]; then { remote_problem && { [ "$act" = check ] || send_to_remote; }; } || failed=1; fi
  exit "$failed"
}

# Sets $dir and $name; refuses a folder that is not exactly a finished backup.
name_backup() {
  dir=$(readlink -f -- "$1") && name=${dir##*/}
  if [ ! -d "$dir" ] || ! printf '%s\n' "$name" | grep -qxE '[0-9]{8}-[0-9]{6}'; then
    trouble "$1 is not a backup folder (YYYYMMDD-HHMMSS)" || exit 2
  fi
  is_whole "$dir" || trouble "$dir is not a complete backup: nothing is sent" || exit 1
}

# Whether a folder holds exactly the three regular files, and the hashes match.
is_whole() {
  [ "$(ls -A -- "$1")" = "$THREE_FILES" ] && [ -z "$(find "$1" -mindepth 1 ! -type f)" ] &&
    [ "$(grep -cE '^[0-9a-f]{64} [ *](hub\.db|uploads\.tar\.gz)$' "$1/SHA256SUMS")" = 2 ] &&
    (cd -- "$1" && sha256sum -c --strict --quiet SHA256SUMS >&2)
}

# Takes the lock, removes what a killed run left, and sets $scratch, which only ever holds ciphertext.
begin_sending() {
  mkdir -p -- "$data/run" "$data/tmp" "$data/backups"
  exec 9>"$data/run/off-site.lock"
  flock -n 9 || { trouble 'BUSY: another off-site copy is running' || exit 75; }
  rm -rf -- "$data"/tmp/off-site.*
  scratch=$(mktemp -d "$data/tmp/off-site.XXXXXX")
  trap 'rm -rf -- "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM
}

# arrived PATH HASH FILE: records the copy as finished.
arrived() {
  printf '%s  %s/%s\n' "$2" "$1" "$3" >>"$ledger" && sync -- "$ledger" &&
    echo "off-site: $1: done, read back and compared"
}

main "$@"
