#!/bin/sh
# Usage: off-site.sh check | send BACKUP_DIR
# Brings a backup to BACKUP_OFFSITE_DIR and to BACKUP_RCLONE_REMOTE, whichever are set. With BACKUP_AGE_RECIPIENT only
# backup.tar.gz.age leaves this machine. What arrives is read back and compared before it gets its name; what is there
# under that name is never overwritten. check finds beforehand what would be in the way. Silent when none is set.

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

# Read whole before it runs, so that an update of this file in the middle does no harm.
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
  ledger=$data/backups/off-site.sent # of every arrival its hash and place, as sha256sum writes them

  [ -z "$recipient" ] || seal_problem || exit 1
  [ "$act" = check ] || begin_sending
  failed=0
  if [ -n "$folder" ]; then { folder_problem && { [ "$act" = check ] || send_to_folder; }; } || failed=1; fi
  if [ -n "$remote" ]; then { remote_problem && { [ "$act" = check ] || send_to_remote; }; } || failed=1; fi
  exit "$failed"
}

# Sets $dir and $name; a folder that is not exactly a finished backup is refused.
name_backup() {
  dir=$(readlink -f -- "$1") && name=${dir##*/}
  if [ ! -d "$dir" ] || ! printf '%s\n' "$name" | grep -qxE '[0-9]{8}-[0-9]{6}'; then
    trouble "$1 is not the folder of a backup (YYYYMMDD-HHMMSS)" || exit 2
  fi
  is_whole "$dir" || trouble "$dir is not a whole backup: nothing is sent" || exit 1
}

# Three plain files, and the hashes of the two fit.
is_whole() {
  [ "$(ls -A -- "$1")" = "$THREE_FILES" ] && [ -z "$(find "$1" -mindepth 1 ! -type f)" ] &&
    [ "$(grep -cE '^[0-9a-f]{64} [ *](hub\.db|uploads\.tar\.gz)$' "$1/SHA256SUMS")" = 2 ] &&
    (cd -- "$1" && sha256sum -c --strict --quiet SHA256SUMS >&2)
}

# One at a time. Sets $scratch, for ciphertext alone; what a killed one left is removed.
begin_sending() {
  mkdir -p -- "$data/run" "$data/tmp" "$data/backups"
  exec 9>"$data/run/off-site.lock"
  flock -n 9 || { trouble 'another backup is being sent' || exit 75; }
  rm -rf -- "$data"/tmp/off-site.*
  scratch=$(mktemp -d "$data/tmp/off-site.XXXXXX")
  trap 'rm -rf -- "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM
}

# arrived PLACE HASH FILE: only now it counts as done.
arrived() {
  printf '%s  %s/%s\n' "$2" "$1" "$3" >>"$ledger" && sync -- "$ledger" &&
    echo "off-site: $1: done, read back and equal"
}

main "$@"
