#!/bin/sh
# Usage: verify-backup.sh [--rehearse] BACKUP_DIR
#        verify-backup.sh [--rehearse] --identity KEY BACKUP_DIR | FILE.age
# Checks every byte of a backup and prints a report; the last line is the verdict. It does not change the backup, needs
# only read access to it, and no running hub. --rehearse also restores it into a temporary folder, starts a hub there
# and requests a page and a file. --identity first decrypts an off-site copy into a temporary folder in TMPDIR.
# Exit 0: verified. 1: damaged, degraded or unreadable.

set -eu
umask 077
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
export PATH

usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}
give_up() {
  echo "FAILED: $*" | hide_secrets
  exit 1
}

root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
# shellcheck source=scripts/open-sealed.sh
. "$root/scripts/open-sealed.sh"
scratch='' child='' web=''

# Runs a step in the background, so that a signal is handled at once instead of when the step has ended.
part() {
  "$@" &
  child=$!
  status=0
  wait "$child" || status=$?
  child=
  return "$status"
}

# shellcheck disable=SC2317 # called by the traps
clean_up() {
  for pid in $child $web; do
    kill -TERM "$pid" 2>/dev/null || :
    wait "$pid" 2>/dev/null || :
  done
  # Try twice: a process left over from a pipe may still be writing there.
  [ -z "$scratch" ] || rm -rf -- "$scratch" 2>/dev/null || { sleep 1 && rm -rf -- "$scratch"; }
}

# make_scratch FOLDER: creates a private folder there, which is removed whenever this script ends.
make_scratch() {
  [ -z "$scratch" ] || return 0
  scratch=$(mktemp -d -- "$1/hub-scratch.XXXXXXXXXX") || give_up "cannot create a folder in $1"
  scratch=$(readlink -f -- "$scratch")
}

hubctl() {
  part sh "$root/scripts/hubctl" "$@"
}

# open_copy FILE-OR-FOLDER: sets $backup to what it decrypts to, in $scratch.
open_copy() {
  sealed=$1
  [ ! -d "$sealed" ] || sealed=$sealed/$SEALED
  if [ ! -f "$sealed" ] || [ ! -r "$sealed" ]; then give_up "$sealed is not a readable file"; fi
  require_key
  make_scratch "${TMPDIR:-/tmp}"
  opened=$scratch/opened switch=
  mkdir "$opened"
  unseal "$sealed" cat -- "$sealed"
}

verify() {
  case $1 in -*) set -- "./$1" ;; esac
  hubctl verify "$1"
}

# Sets $backup, $key and $rehearse; options may stand before the backup or after it.
read_arguments() {
  rehearse=no key='' backup=''
  while [ $# -gt 0 ]; do
    case $1 in
      --help) usage && exit 0 ;;
      --rehearse) rehearse=yes ;;
      --identity)
        [ -n "${2-}" ] || wrong_usage
        key=$2 && shift
        ;;
      '' | -*) wrong_usage ;;
      *)
        [ -z "$backup" ] || wrong_usage
        backup=$1
        ;;
    esac
    shift
  done
  [ -n "$backup" ] || wrong_usage
}

wrong_usage() {
  usage >&2
  exit 2
}

main() {
  read_arguments "$@"
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM

  if [ -n "$key" ]; then
    open_copy "$backup"
  elif [ -f "$backup/$SEALED" ] || [ "$backup" != "${backup%.age}" ]; then
    give_up "$backup is encrypted: add --identity KEY, the file that holds the secret key"
  fi
  verify "$backup" || exit
  if [ "$rehearse" = yes ]; then
    # shellcheck source=scripts/rehearse-restore.sh
    . "$root/scripts/rehearse-restore.sh"
    rehearse_restore "$backup"
  fi
}

main "$@"
exit
