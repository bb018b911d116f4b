#!/bin/sh
# Usage: install-backup-cron.sh [--dry-run] [--remove]
# Adds one line to your crontab: every day at 03:15 nightly-backup.sh makes a backup and verifies the newest backup. The
# report is in backups/nightly.log in DATA_DIR. Run this script as the account that runs the hub. The job reads settings
# from .env only. Other lines stay unchanged; a second run changes nothing. --remove removes the line, --dry-run prints
# the crontab that would be installed.

set -eu
export LC_ALL=C
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
die() {
  echo "install-backup-cron: $*" >&2
  exit 1
}

dry_run=no remove=no
for argument in "$@"; do
  case $argument in
    --dry-run) dry_run=yes ;;
    --remove) remove=yes ;;
    --help) usage && exit 0 ;;
    *) wrong_usage ;;
  esac
done

# cron treats backslashes inconsistently.
case $root in *[\\[:cntrl:]]*) die "cron cannot use $root: move the hub to a path without backslashes" ;; esac
. "$root/scripts/find-node.sh"

# Quotes a path for the shell, then for cron.
quoted_for_cron() {
  printf '%s' "$1" | sed "s/'/'\\\\''/g; s/%/\\\\%/g; s/^/'/; s/\$/'/"
}

# Whether the timer that install-systemd.sh installs for this folder is enabled.
has_timer() {
  units=/etc/systemd/system
  [ -L "$units/timers.target.wants/content-hub-backup.timer" ] || return
  exec_start="ExecStart=:\"$(printf '%s' "$root" | sed 's/%/%%/g')/scripts/nightly-backup.sh\""
  grep -qsxF -- "$exec_start" "$units/content-hub-backup.service"
}

command -v crontab >/dev/null || die "crontab is not installed: install cron, or use install-systemd.sh"
COMMAND=$(quoted_for_cron "$root/scripts/nightly-backup.sh")
export COMMAND
line="15 3 * * * $COMMAND"
if [ "$remove" = no ]; then
  [ -n "$node" ] || die "the hub is not set up yet: run $root/scripts/set-up.sh once"
  # cron lacks this shell's PATH and HUB_NODE. If cron would find another Node or no Node, the line sets HUB_NODE.
  # shellcheck disable=SC2016 # expanded by the inner shell
  found=$(env -i PATH=/usr/bin:/bin:/usr/local/bin \
    sh -c 'root=$1; . "$1/scripts/find-node.sh"; echo "$node"' sh "$root")
  [ "$found" = "$node" ] || line="15 3 * * * HUB_NODE=$(quoted_for_cron "$node") $COMMAND"
  data=$(env -i "$node" "$root/src/bin/hubctl.ts" config DATA_DIR) || exit
  [ ! -d "$data" ] || [ "$(stat -c %u -- "$data")" = "$(id -u)" ] ||
    die "$data belongs to $(stat -c %U -- "$data"): run this as that account, so that it owns its backups"
fi

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
if ! crontab -l >"$scratch/old" 2>"$scratch/said"; then
  case $(cat "$scratch/said") in
    *'no crontab for '*) : >"$scratch/old" ;;
    *) die "crontab -l failed, nothing was changed: $(cat "$scratch/said")" ;;
  esac
fi

# Removes this hub's line, whatever its schedule. Comments and all other lines stay unchanged.
awk 'BEGIN { field = "[^ \t]+[ \t]+"; times = "^[ \t]*" field field field field field }
{
  command = $0
  sub(times, "", command)
  at = length(command) - length(ENVIRON["COMMAND"])
  named = at == 0 || index(command, "HUB_NODE=") == 1
  if ($0 ~ /^[ \t]*#/ || at < 0 || !named || substr(command, at + 1) != ENVIRON["COMMAND"]) print
}' "$scratch/old" >"$scratch/new"
if [ "$remove" = no ]; then
  others=$(wc -l <"$scratch/new")
  printf '%s\n' "$line" >>"$scratch/new"
  # The line is already there, exactly once: leave the crontab as it is.
  if grep -qxF -- "$line" "$scratch/old" && [ "$(wc -l <"$scratch/old")" -eq "$((others + 1))" ]; then
    cp "$scratch/old" "$scratch/new"
  fi
fi
if [ "$dry_run" = yes ]; then
  cat "$scratch/new"
  exit
fi

if ! cmp -s "$scratch/old" "$scratch/new"; then
  crontab - <"$scratch/new" || die "crontab rejected the new table; the old one is unchanged"
  crontab -l | cmp -s - "$scratch/new" || die 'the installed crontab differs from what was written: check crontab -l'
fi

if [ "$remove" = yes ]; then
  echo 'the crontab contains no line for this hub'
else
  echo "the crontab contains this line: $line"
  ! has_timer || echo "install-backup-cron: systemd's content-hub-backup.timer also backs up this hub: keep only" \
    'one of them (systemctl disable --now content-hub-backup.timer, or install-backup-cron.sh --remove)' >&2
  cat /proc/[0-9]*/comm 2>/dev/null | grep -qxE 'cron|crond|fcron|anacron|systemd-cron' ||
    echo 'install-backup-cron: cron does not seem to be running: start it, or no backups will be made' >&2
fi
