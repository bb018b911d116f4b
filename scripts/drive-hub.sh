# shellcheck shell=sh disable=SC2154
# Sourced by restore.sh and upgrade.sh, after common.sh. Stops and starts the hub, whatever runs it: the operator's own
# commands, npm start (whose supervisor waits while a restore is in progress), or the systemd units.

. "$root/scripts/as-owner.sh"

REQUESTS=content-hub-restore
WEB=content-hub-web.service
WORKER=content-hub-worker.service

# Sets $data, $switch, $driver, the time limits (seconds), and $proof: which programs have to write during a trial.
read_hub() {
  read_settings data=DATA_DIR stop_command=HUB_STOP_COMMAND start_command=HUB_START_COMMAND \
    patience=RESTORE_HEALTH_SECONDS stop_patience=RESTORE_STOP_SECONDS || return
  limit_trial "$patience"
  [ "$act" != recover ] || require_hub "$data" || return
  find_owner "$data" || return
  as_owner mkdir -p -m 0700 -- "$data/run"
  trial='' deadline='' proof='web worker'
  driver=$(find_driver)
}

# limit_trial SECONDS: sets $trial_limit, the seconds after which this script decides whether a restored or upgraded hub
# is healthy. The hub itself would end the trial later, after SECONDS.
limit_trial() {
  margin=$(($1 / 6 + 2))
  [ "$margin" -le 15 ] || margin=15
  trial_limit=$(($1 - margin))
  [ "$trial_limit" -ge 1 ] || trial_limit=1
}

find_driver() {
  if [ -n "$stop_command" ]; then
    echo commands
  elif [ -n "$(started_by_npm)" ]; then
    echo npm
  elif has_units; then
    if [ "$(id -u)" -eq 0 ]; then echo systemd; else echo requested; fi
  else
    echo nobody
  fi
}

# Prints the process id of npm start if it runs. Checks the process's command line: the id may have been reused.
started_by_npm() {
  pid=$(cat -- "$data/run/hub.pid" 2>/dev/null) || return 0
  case $pid in '' | *[!0-9]*) return 0 ;; esac
  # A process has no command line for an instant while exec replaces it, as an upgrade does.
  for _ in 1 2 3 4 5; do
    words=$({ tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null) || return 0
    [ -z "$words" ] || break
    sleep 0.2
  done
  if printf '%s\n' "$words" | grep -q '^\(.*/\)\{0,1\}src/bin/start\.ts$'; then echo "$pid"; fi
}

# Whether the units of this machine run the hub of this DATA_DIR, not another hub.
has_units() {
  [ -d /run/systemd/system ] || return
  units=$(systemctl cat "$WEB" 2>/dev/null) || return
  guard="!$(printf '%s' "$data" | sed 's/%/%%/g')/run/restore-state.json"
  printf '%s\n' "$units" | grep -qxF "ConditionPathExists=$guard"
}

# Fails with the reason if this account may not stop the hub.
check_rights() {
  require_owner "$data" || return
  if [ "$driver" = requested ] && ! systemctl is-active --quiet "$REQUESTS.path"; then
    say "the hub is run by systemd units, which $(id -un) may not stop: run this as root. Nothing was changed."
    return 1
  elif [ "$driver" = npm ] && ! kill -0 "$(started_by_npm)" 2>/dev/null; then
    say "the hub is run by another account, which $(id -un) may not stop: run this as root. Nothing was changed."
    return 1
  fi
}

# require_tools TOOL...: gives up if a tool is missing. For example, a missing flock would look like a lock that is
# taken.
require_tools() {
  for tool; do command -v "$tool" >/dev/null || give_up "$tool is not installed"; done
}

# Takes the lock that backups, restores and upgrades share. Opens it to read: the hub's account could put a link in its
# place, and root would make a file where that leads.
take_lock() {
  as_owner touch -- "$data/run/backup.flock" || give_up "$data/run cannot be written"
  exec 9<"$data/run/backup.flock"
  flock -n -E 75 9 && return
  case $? in
    75) say 'BUSY: another backup or restore is running; nothing was changed' && exit 75 ;;
    *) give_up "flock could not lock $data/run/backup.flock" ;;
  esac
}

# From here on no signal ends this script or a program that it runs: Ctrl-C reaches them all, and one that it ended would
# be a failed step. Node undoes what it inherits, so its programs run apart. Signals still end a hub that this script
# starts.
apart=
go_to_the_end() {
  trap '' HUP INT TERM
  apart='setsid -w'
}

tell_who_starts() {
  [ "$driver" != nobody ] || say 'the hub was not running before, so it was not started; you can start it now'
}

stop_hub() {
  case $driver in
    commands) sh -c "$stop_command" >&2 9>&- ;;
    systemd) systemctl stop "$WEB" "$WORKER" >&2 9>&- ;;
    requested) request stop "$((stop_patience + 110))" ;; # systemd ends a hub that has not stopped after 100 s
    npm)
      as_owner rm -f -- "$data/run/hub.failed"
      ! pid=$(started_by_npm) || [ -z "$pid" ] || kill -USR2 "$pid"
      ;;
    nobody) end_trial && nobody_answers ;;
  esac
}

# Fails if a hub answers although no driver was found: an unknown supervisor may run the hub.
nobody_answers() {
  ! sh "$root/scripts/healthcheck.sh" >/dev/null 2>&1 9>&- && return
  say 'a hub answers at HOST and PORT, but this script did not find what runs the hub: stop it, or set HUB_STOP_COMMAND'
  return 1
}

# Starts the hub by the program that ran the hub before. If the hub was not running (driver "nobody"), starts nothing:
# the operator starts the hub.
start_hub() {
  case $driver in
    commands) (trap - HUP INT TERM && exec sh -c "$start_command") >&2 9>&- ;;
    systemd)
      systemctl reset-failed "$WEB" "$WORKER" >/dev/null 2>&1 9>&- || : # a unit may have failed meanwhile
      start_units
      ;;
    requested) request start "$(remaining)" ;;
    npm) [ -n "$(started_by_npm)" ] ;;
  esac
}

# request stop|start SECONDS: asks content-hub-restore.service, which runs as root, to stop or start the units, and
# waits. content-hub-restore.service overlooks a request that is written while the service works, so this function
# writes the request again every five seconds.
request() {
  left=$2
  wish "$1"
  until is_fulfilled "$1"; do
    state=$(systemctl show -p SubState --value "$WEB" 9>&-)
    # A unit that is restarted on failure is never "failed": it is in auto-restart for five seconds.
    if [ "$left" -le 0 ] || [ "$1-$state" = start-auto-restart ]; then
      say "the units did not $1 within $2 s: see journalctl -u 'content-hub-*'"
      return 1
    fi
    left=$((left - 1))
    [ "$((left % 5))" -ne 0 ] || wish "$1"
    sleep 1
  done
}

wish() {
  printf '%s\n' "$1" | as_owner tee -- "$data/run/units.wish" >/dev/null
}

is_fulfilled() {
  states=$(systemctl show -p ActiveState --value "$WEB" "$WORKER" "$REQUESTS.service" 2>&1 9>&- | tr -s '\n' ' ')
  case $1-$states in
    start-'active active inactive ' | stop-'inactive inactive inactive ' | stop-'failed inactive inactive ') ;;
    stop-'inactive failed inactive ' | stop-'failed failed inactive ') ;;
    *) return 1 ;;
  esac
}

# Returns when web is healthy, or at the time limit of the restore, which may be shorter than the unit's time limit.
start_units() {
  wait_for=$(remaining)
  # timeout ends systemctl by SIGTERM.
  (trap - TERM && exec timeout --foreground "$wait_for" systemctl start "$WEB" "$WORKER") >&2 9>&- && return
  [ $? -ne 124 ] || say "the hub did not become ready within $wait_for s"
  return 1
}

# The trial after a restore or an upgrade: within $trial_limit seconds the hub has to be healthy, and the programs in
# $proof have to write. A hub that was not running before runs only for the trial.
try_hub() {
  since=$(as_owner stat -c %Y -- "$data/run/restore-probation.json")000
  deadline=$(($(uptime_seconds) + trial_limit))
  passed=yes
  if [ "$driver" = nobody ]; then
    start_trial && await_hub && prove && end_trial || passed=no
  elif [ "$driver" = npm ]; then
    start_hub && await_hub "$data/run/hub.failed" && prove || passed=no
  else
    start_hub && await_hub && prove || passed=no
  fi
  deadline=
  [ "$passed" = yes ]
}

prove() {
  # shellcheck disable=SC2086 # words
  as_owner $apart sh "$root/scripts/hubctl" await-writes --seconds "$(remaining)" "$since" $proof 8>&- 9>&-
}

uptime_seconds() {
  sed 's/[.].*//' /proc/uptime
}

# Prints how many seconds the hub still has to become healthy: the rest of its trial, or RESTORE_HEALTH_SECONDS.
remaining() {
  left=$patience
  [ -z "$deadline" ] || left=$((deadline - $(uptime_seconds)))
  [ "$left" -gt 0 ] || left=1
  echo "$left"
}

# await_hub [FAILURE_FILE]: waits until the hub is healthy or FAILURE_FILE appears.
await_hub() {
  (
    [ -z "$deadline" ] || export DEADLINE="$deadline"
    [ -z "$trial" ] || export MAINPID="${trial%% *}"
    [ $# -eq 0 ] || export FAILURE_FILE="$1"
    exec setsid -w sh "$root/scripts/await-health.sh" "$(remaining)" 1 8>&- 9>&-
  ) || return
  [ -z "$trial" ] || kill -0 "${trial%% *}" 2>/dev/null
}

# Sets $trial to the process ids of web and worker.
start_trial() {
  . "$root/scripts/find-node.sh"
  for program in web worker; do
    # Starts the program directly, not by a shell function: $! would be the process id of a function's subshell, not of
    # the hub.
    # shellcheck disable=SC2086 # several words
    LOG_LEVEL=error $switch "$node" --disable-sigusr1 "$root/src/bin/launch.ts" "$program" >&2 8>&- 9>&- &
    trial="${trial:+$trial }$!"
  done
}

end_trial() {
  # shellcheck disable=SC2086 # process ids
  end_processes $trial
  trial=
}

# Waits until no process has the database open; at the time limit, names a process that still has the database open.
# Looks for open files in /proc, and so also finds a process that has a damaged or removed database open. SQLite's
# locks, which are checked later, cover processes in other containers.
await_release() {
  left=$stop_patience
  while holder=$(holder_of_database) && [ -n "$holder" ]; do
    if [ "$left" -le 0 ]; then
      say "process $holder still has the database open: stop it, or set HUB_STOP_COMMAND and HUB_START_COMMAND"
      return 1
    fi
    left=$((left - 1))
    sleep 1
  done
}

holder_of_database() {
  path=$(readlink -f -- "$data")/hub.db
  pattern=$(printf '%s\n' "$path" | sed 's/[][\\*?]/\\&/g')
  # The link to a removed file ends in " (deleted)".
  { find /proc/[0-9]*/fd -lname "$pattern" -o -lname "$pattern (deleted)" -o -lname "$pattern-[jsw]*" || :; } 2>/dev/null |
    sed -n '1s|^/proc/\([0-9]*\)/.*|\1|p'
}
