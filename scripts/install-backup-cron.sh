#!/bin/sh
# Usage: install-backup-cron.sh [--every HOURS] [--dry-run] [--remove]
# Adds one line to your crontab: every day at 03:15 nightly-backup.sh makes a backup and verifies the newest backup. The
# nightly report is in backups/nightly.log in DATA_DIR. --every 1, 2, 3, 4, 6, 8 or 12 adds a second line, by which
# interim-backup.sh makes interim backups between the nights, HOURS apart. --every 24 removes the line for interim
# backups; without --every the line stays. Run this script as the account that runs the hub. Scripts that cron runs read
# settings from .env only. All other lines of the crontab stay unchanged; running this script again changes nothing.
# --remove removes this hub's lines, --dry-run prints the crontab that would be installed.

set -eu
export LC_ALL=C
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
die() {
  echo "install-backup-cron: $*" >&2
  exit 1
}

dry_run=no remove=no every='' data=''
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry_run=yes ;;
    --remove) remove=yes ;;
    --every)
      [ $# -gt 1 ] || wrong_usage
      require_interval "$2" && every=$2 && shift
      ;;
    --help) usage && exit 0 ;;
    *) wrong_usage ;;
  esac
  shift
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
  grep -qsF -- "$exec_start" "$units/content-hub-backup.service"
}

command -v crontab >/dev/null || die "crontab is not installed: install cron, or use install-systemd.sh"
COMMAND=$(quoted_for_cron "$root/scripts/nightly-backup.sh")
INTERIM=$(quoted_for_cron "$root/scripts/interim-backup.sh")
export COMMAND INTERIM
elsewhere=
[ -z "$node" ] || data=$(env -i "$node" --disable-sigusr1 "$root/src/bin/hubctl.ts" config DATA_DIR) || [ "$remove" = yes ] || exit
if [ "$remove" = no ]; then
  [ -n "$node" ] || die "the hub is not set up yet: run $root/scripts/set-up.sh once"
  # cron lacks this shell's PATH and HUB_NODE. If cron would find another Node or no Node, the line sets HUB_NODE.
  # shellcheck disable=SC2016 # expanded by the inner shell
  found=$(env -i PATH=/usr/bin:/bin:/usr/local/bin \
    sh -c 'root=$1; . "$1/scripts/find-node.sh"; echo "$node"' sh "$root")
  [ "$found" = "$node" ] || elsewhere="HUB_NODE=$(quoted_for_cron "$node") "
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

# Removes this hub's lines from the crontab, whatever their schedule, and writes the removed lines to $scratch/had.
# Comments and all other lines of the crontab stay unchanged.
: >"$scratch/had"
HAD=$scratch/had awk 'BEGIN { field = "[^ \t]+[ \t]+"; times = "^[ \t]*" field field field field field }
function is_ours(ours) {
  at = length(command) - length(ours)
  return at >= 0 && substr(command, at + 1) == ours && (at == 0 || index(command, "HUB_NODE=") == 1)
}
{
  command = $0
  sub(times, "", command)
  sub(/ --every [0-9]+$/, "", command)
  if ($0 !~ /^[ \t]*#/ && (is_ours(ENVIRON["COMMAND"]) || is_ours(ENVIRON["INTERIM"]))) print >ENVIRON["HAD"]
  else print
}' "$scratch/old" >"$scratch/new"
if [ "$remove" = no ]; then
  [ -n "$every" ] || every=$(sed -n 's/.* --every \([0-9]*\)$/\1/p' "$scratch/had" | tail -n 1)
  {
    echo "15 3 * * * $elsewhere$COMMAND"
    ! is_interval "$every" || echo "15 $(interim_hours "$every") * * * $elsewhere$INTERIM --every $every"
  } >"$scratch/lines"
  # If the crontab already has the hub's lines exactly once, leaves the crontab as it is.
  sort "$scratch/had" >"$scratch/sorted"
  if sort "$scratch/lines" | cmp -s - "$scratch/sorted"; then
    cp "$scratch/old" "$scratch/new"
  else
    cat "$scratch/lines" >>"$scratch/new"
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

# Removes the record of the last interim backup, or the hub would call the next interim backup late.
[ -z "$data" ] || is_interval "$every" || ! grep -q -- ' --every ' "$scratch/had" ||
  rm -f -- "$data/run/last-interim.json" "$data/run/interim-begun.json"

if [ "$remove" = yes ]; then
  echo 'the crontab contains no line for this hub'
else
  sed 's/^/the crontab contains this line: /' "$scratch/lines"
  ! has_timer || echo "install-backup-cron: systemd's content-hub-backup.timer also backs up this hub: keep only" \
    'one of them (systemctl disable --now content-hub-backup.timer, or install-backup-cron.sh --remove)' >&2
  cat /proc/[0-9]*/comm 2>/dev/null | grep -qxE 'cron|crond|fcron|anacron|systemd-cron' ||
    echo 'install-backup-cron: cron does not seem to be running: start it, or no backups will be made' >&2
fi
