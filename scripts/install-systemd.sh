#!/bin/sh
# Usage: install-systemd.sh [--user USER] [--every HOURS] [--with-bridge] [--root DIR] [--dry-run] [--remove]
# Installs and starts the hub's systemd units: web and worker, which are restarted when they fail or stay unhealthy, a
# backup every day at 03:15 and, with --with-bridge, the bridge to ClamAV. --every 1, 2, 3, 4, 6, 8 or 12 adds interim
# backups between the nights, HOURS apart. --every 24 ends interim backups; without --every their timer stays. The units
# run as USER, by default the account that owns the data, and read settings from .env only. Run this script again after
# moving the hub, after changing PORT, DATA_DIR, BACKUP_DIR, BACKUP_OFFSITE_DIR or BACKUP_RESTIC_REPOSITORY, and when
# .env names a file in /home.
# --dry-run prints the units. --root installs into the system image at DIR and starts nothing. --remove stops and
# removes the units.

set -eu
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
die() {
  echo "install-systemd: $*" >&2
  exit 1
}

user='' image='' task=install bridge=no every=
while [ $# -gt 0 ]; do
  case $1 in
    --user | --root | --every) [ $# -gt 1 ] || wrong_usage ;;
  esac
  case $1 in
    --user) user=$2 && shift ;;
    --root) image=$2 && shift ;;
    --every) require_interval "$2" && every=$2 && shift ;;
    --with-bridge) bridge=yes ;;
    --dry-run) task=print ;;
    --remove) task=remove ;;
    --help) usage && exit 0 ;;
    *) wrong_usage ;;
  esac
  shift
done

. "$root/scripts/find-node.sh"
. "$root/scripts/systemd-units.sh"

# Runs systemctl on the system image given by --root, else on the running system.
control() {
  if [ -n "$image" ]; then systemctl --root="$image" "$@"; else systemctl "$@"; fi
}

# Whether the account's crontab names this hub's nightly-backup.sh, quoted or not.
has_cron_line() {
  command -v crontab >/dev/null || return
  nightly=$root/scripts/nightly-backup.sh
  # In a crontab, % is escaped with a backslash.
  crontab -u "$user" -l 2>/dev/null | sed '/^[[:space:]]*#/d; s/[[:space:]]/ /g; s/\\%/%/g' |
    grep -qF -e " $nightly" -e "'$nightly" -e "\"$nightly"
}

if [ "$task" != print ]; then
  [ -w "$image/etc" ] || die 'this must be run as root; --dry-run prints the units'
  [ -n "$image" ] || [ -d /run/systemd/system ] ||
    die 'this machine does not run systemd; --dry-run prints the units, install-backup-cron.sh uses cron instead'
fi
unit_dir=$image/etc/systemd/system
[ ! -e "$unit_dir/content-hub-clamd-bridge.service" ] || bridge=yes

interim=$unit_dir/content-hub-interim.service
[ -n "$every" ] || every=$(sed -n 's/^ExecStart=.* --every \([0-9]*\)$/\1/p' "$interim" 2>/dev/null) || :

# remove_units UNIT...: stops and removes the named units, if they are installed.
remove_units() {
  for unit in "$@"; do
    [ -e "$unit_dir/$unit" ] || continue
    if [ -n "$image" ]; then control disable "$unit"; else control disable --now "$unit"; fi
    rm -- "$unit_dir/$unit"
  done
}

# Removes the record of the last interim backup, or the hub would call the next interim backup late.
forget_interim() {
  [ -z "$image" ] && [ -e "$interim" ] || return 0
  run=$(sed -n 's/^RequiresMountsFor="\(.*\)"$/\1/p' "$interim" | sed 's/%%/%/g')/run
  rm -f -- "$run/last-interim.json" "$run/interim-begun.json"
}

if [ "$task" = remove ]; then
  forget_interim
  # shellcheck disable=SC2086 # unit names, with nothing to expand
  remove_units $ALL_UNITS
  [ -n "$image" ] || control daemon-reload
  echo 'the units of the hub are removed'
  exit
fi

read_values
units=$ALL_UNITS
[ "$bridge" = yes ] || units=$(printf '%s\n' "$units" | grep -v clamd-bridge)
is_interval "$every" || units=$(printf '%s\n' "$units" | grep -v interim)
if [ "$task" = print ]; then
  for unit in $units; do printf '# %s\n' "$unit_dir/$unit" && filled "$unit" && echo; done
  exit
fi

own_data
mkdir -p -- "$unit_dir"
if [ "$every" = 24 ]; then
  forget_interim
  remove_units content-hub-interim.timer content-hub-interim.service
fi
for unit in $units; do
  filled "$unit" >"$unit_dir/.$unit"
  chmod 644 "$unit_dir/.$unit"
  mv -- "$unit_dir/.$unit" "$unit_dir/$unit"
done
started=$(printf '%s\n' "$units" | grep -vxE 'content-hub-(backup|interim|health|restore)\.service')
[ -n "$image" ] || control daemon-reload
# shellcheck disable=SC2086 # unit names, with nothing to expand
control enable $started
if [ -z "$image" ]; then
  # shellcheck disable=SC2086 # unit names again
  control restart $started || die 'not all units have started: see journalctl -u "content-hub-*"'
fi
echo "installed for $user: $(printf '%s' "$units" | tr '\n' ' ')"
[ -n "$image" ] || ! has_cron_line ||
  echo "install-systemd: the crontab of $user also backs up this hub: keep only one of them" \
    '(install-backup-cron.sh --remove as that account, or systemctl disable --now content-hub-backup.timer)' >&2
