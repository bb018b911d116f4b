#!/bin/sh
# Usage: verify-backup.sh [--rehearse] BACKUP_DIR
#        verify-backup.sh [--rehearse] --identity KEY BACKUP_DIR | FILE.age
# Checks every byte of a backup and prints a report; the last line is the verdict. The script only reads the backup, and
# needs no running hub. --rehearse also restores it into a temporary folder, starts a hub there and requests a page and
# a file.
# --identity first decrypts an off-site copy into a temporary folder in TMPDIR.
# Exit 0: verified. 1: damaged, degraded or unreadable. 129, 130, 143: stopped by a signal.

set -eu
umask 077
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin"
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
. "$root/scripts/open-sealed.sh"
scratch='' web=''

give_up() {
  echo "FAILED: $*" | hide_secrets
  exit 1
}

# shellcheck disable=SC2317 # called by the traps
clean_up() {
  stop_child
  # shellcheck disable=SC2086 # a process id or none
  end_processes $web
  # Removes the folder twice, because a child process that was told to end may still be writing into the folder.
  [ -z "$scratch" ] || rm -rf -- "$scratch" 2>/dev/null || { sleep 1 && rm -rf -- "$scratch"; }
}

# make_scratch FOLDER: creates a private temporary folder in FOLDER, which clean_up removes.
make_scratch() {
  [ -z "$scratch" ] || return 0
  scratch=$(mktemp -d -- "$1/hub-scratch.XXXXXXXXXX") || give_up "cannot create a folder in $1"
  scratch=$(readlink -f -- "$scratch")
}

hubctl() {
  run_child sh "$root/scripts/hubctl" "$@"
}

# Decrypts the copy into $scratch and sets $backup to the folder.
open_copy() {
  find_sealed "$backup"
  require_key "$sealed"
  make_scratch "${TMPDIR:-/tmp}"
  opened=$scratch/opened switch=
  mkdir "$opened"
  unseal "$sealed" cat -- "$sealed"
}

verify() {
  case $1 in -*) set -- "./$1" ;; esac
  hubctl verify "$1"
}

# Sets $backup, the backup to verify, $key, the file with the secret key, and $rehearse (yes or no).
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

main() {
  read_arguments "$@"
  # The temporary hub is made beside the backup, where root would follow links of the account that owns the folder.
  if [ "$rehearse-$key-$(id -u)" = yes--0 ] && [ -d "$backup" ]; then
    . "$root/scripts/as-owner.sh"
    go_on_as_owner "$backup" "$0" "$@"
  fi
  trap clean_up EXIT
  exit_on_signals

  if [ -n "$key" ] || [ -f "$backup/$SEALED" ] || [ "$backup" != "${backup%.age}" ]; then open_copy; fi
  verify "$backup" || exit
  if [ "$rehearse" = yes ]; then
    . "$root/scripts/rehearse-restore.sh"
    rehearse_restore "$backup"
  fi
}

main "$@"
exit
