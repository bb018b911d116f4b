# shellcheck shell=sh disable=SC2154
# Sourced, with $root set to the project and $act to what is asked for. Stops and starts the hub, whatever runs it: the
# operator's own commands, npm start (whose supervisor waits by itself while a restore is in progress), or the systemd
# units.

# shellcheck source=scripts/as-owner.sh
. "$root/scripts/as-owner.sh"
# shellcheck source=scripts/end-processes.sh
. "$root/scripts/end-processes.sh"

WISHES=content-hub-restore
WEB=content-hub-web.service
WORKER=content-hub-worker.service

# Sets $data, $switch, $driver and the time limits, in seconds. Fails if the configuration is invalid.
read_hub() {
  settings=$(sh "$root/scripts/hubctl" config DATA_DIR HUB_STOP_COMMAND HUB_START_COMMAND RESTORE_HEALTH_SECONDS \
    RESTORE_STOP_SECONDS) || return
  data=$(printf '%s\n' "$settings" | sed -n 1p)
  stop_command=$(printf '%s\n' "$settings" | sed -n 2p)
  start_command=$(printf '%s\n' "$settings" | sed -n 3p)
  patience=$(printf '%s\n' "$settings" | sed -n 4p)
  stop_patience=$(printf '%s\n' "$settings" | sed -n 5p)
  limit_trial "$patience"
  [ "$act" != recover ] || require_hub "$data" || return
  find_owner "$data" || return
  as_owner mkdir -p -m 0700 -- "$data/run"
  trial='' deadline='' proof='web worker'
  driver=$(find_driver)
}

# limit_trial SECONDS: after that time the hub ends the trial by itself, so this script has to decide a little earlier.
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
    if [ "$(id -u)" -eq 0 ]; then echo systemd; else echo wishes; fi
  else
    echo nobody
  fi
}

# Prints the process id of npm start if it is running. The id in the file may have been reused by another process.
started_by_npm() {
  pid=$(cat -- "$data/run/hub.pid" 2>/dev/null) || return 0
  case $pid in '' | *[!0-9]*) return 0 ;; esac
  # For an instant, while it becomes the npm start of another version, a process has no command line.
  for _ in 1 2 3 4 5; do
    words=$({ tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null) || return 0
    [ -z "$words" ] || break
    sleep 0.2
  done
  if printf '%s\n' "$words" | grep -q '^\(.*/\)\{0,1\}src/bin/start\.ts$'; then echo "$pid"; fi
}

# Whether this machine's units run the hub of this DATA_DIR: there may be a second hub, for example a test copy.
has_units() {
  [ -d /run/systemd/system ] || return
  units=$(systemctl cat "$WEB" 2>/dev/null) || return
  guard="!$(printf '%s' "$data" | sed 's/%/%%/g')/run/restore-state.json"
  printf '%s\n' "$units" | grep -qxF "ConditionPathExists=$guard"
}

# Says why this account could not carry a restore through, before anything is touched.
check_rights() {
  require_owner "$data" || return
  if [ "$driver" = wishes ] && ! systemctl is-active --quiet "$WISHES.path"; then
    say "the hub is run by systemd units, which $(id -un) may not stop: run this as root. Nothing was changed."
    return 1
  elif [ "$driver" = npm ] && ! kill -0 "$(started_by_npm)" 2>/dev/null; then
    say "the hub is run by another account, which $(id -un) may not stop: run this as root. Nothing was changed."
    return 1
  fi
}

as_owner() {
  # shellcheck disable=SC2086 # words
  $switch "$@"
}

stop_hub() {
  case $driver in
    commands) sh -c "$stop_command" >&2 9>&- ;;
    systemd) systemctl stop "$WEB" "$WORKER" >&2 9>&- ;;
    wishes) wish stop "$((stop_patience + 40))" ;;
    npm)
      as_owner rm -f -- "$data/run/hub.failed"
      ! pid=$(started_by_npm) || [ -z "$pid" ] || kill -USR2 "$pid"
      ;;
    nobody) end_trial && nobody_answers ;;
  esac
}

# A hub that answers although no driver was found is another hub, or is run by an unknown supervisor.
nobody_answers() {
  ! sh "$root/scripts/healthcheck.sh" >/dev/null 2>&1 9>&- && return
  say 'a hub answers at HOST and PORT, but this script did not find what runs it: stop it, or set HUB_STOP_COMMAND'
  return 1
}

# Does nothing for driver "nobody": the hub was not running, so starting it is left to the operator.
start_hub() {
  case $driver in
    commands) sh -c "$start_command" >&2 9>&- ;;
    systemd)
      systemctl reset-failed "$WEB" "$WORKER" >/dev/null 2>&1 9>&- || : # a unit may have failed meanwhile
      start_units
      ;;
    wishes) wish start "$(remaining)" ;;
    npm) [ -n "$(started_by_npm)" ] ;;
  esac
}

# wish stop|start SECONDS: has content-hub-restore.service stop or start the units, which only root may do directly, and
# waits for it. A wish that is written while that service is at work goes unnoticed, so it is written again.
wish() {
  left=$2
  printf '%s\n' "$1" >"$data/run/units.wish"
  until is_fulfilled "$1"; do
    if [ "$left" -le 0 ] || { [ "$1" = start ] && has_failed_to_start; }; then
      say "the units did not $1 within $2 s: see journalctl -u 'content-hub-*'"
      return 1
    fi
    left=$((left - 1))
    [ "$((left % 5))" -ne 0 ] || printf '%s\n' "$1" >"$data/run/units.wish"
    sleep 1
  done
}

is_fulfilled() {
  states=$(systemctl show -p ActiveState --value "$WEB" "$WORKER" "$WISHES.service" 2>&1 9>&- | tr -s '\n' ' ')
  case $1-$states in
    start-'active active inactive ' | stop-'inactive inactive inactive ' | stop-'failed inactive inactive ') ;;
    stop-'inactive failed inactive ' | stop-'failed failed inactive ') ;;
    *) return 1 ;;
  esac
}

# Where a unit is restarted when it fails, its state is never "failed"; it waits five seconds for its restart.
has_failed_to_start() {
  [ "$(systemctl show -p SubState --value "$WEB" 9>&-)" = auto-restart ]
}

# Returns when web is healthy. A restore has its own time limit, which may be shorter than the unit's.
start_units() {
  wait_for=$(remaining)
  timeout --foreground "$wait_for" systemctl start "$WEB" "$WORKER" >&2 9>&- && return
  [ $? -ne 124 ] || say "the hub did not become ready within $wait_for s"
  return 1
}

# Checks the hub on restored data or after an upgrade: within $trial_limit seconds it has to be healthy, and web and
# worker have to write. A hub that was not running before runs for this check alone.
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
  as_owner ${apart-} sh "$root/scripts/hubctl" await-writes --seconds "$(remaining)" "$since" $proof 8>&- 9>&-
}

uptime_seconds() {
  sed 's/[.].*//' /proc/uptime
}

# Prints the seconds that the hub still has to become healthy: of its trial, or RESTORE_HEALTH_SECONDS.
remaining() {
  left=$patience
  [ -z "$deadline" ] || left=$((deadline - $(uptime_seconds)))
  [ "$left" -gt 0 ] || left=1
  echo "$left"
}

# await_hub [FAILURE_FILE]: waits until the hub is healthy; gives up early when that file appears. Ctrl-C must not end
# the waiting process, since this script itself ignores it.
await_hub() {
  (
    trap '' HUP INT TERM
    [ -z "$deadline" ] || export DEADLINE="$deadline"
    [ -z "$trial" ] || export MAINPID="${trial%% *}"
    [ $# -eq 0 ] || export FAILURE_FILE="$1"
    exec sh "$root/scripts/await-health.sh" "$(remaining)" 1 8>&- 9>&-
  ) || return
  [ -z "$trial" ] || kill -0 "${trial%% *}" 2>/dev/null
}

# Sets $trial to the process ids of web and worker.
start_trial() {
  # shellcheck source=scripts/find-node.sh
  . "$root/scripts/find-node.sh"
  for program in web worker; do
    # Not through a function: $! would then be a subshell, not the hub.
    # shellcheck disable=SC2086 # several words
    LOG_LEVEL=error $switch "$node" "$root/src/bin/launch.ts" "$program" >&2 8>&- 9>&- &
    trial="${trial:+$trial }$!"
  done
}

end_trial() {
  # shellcheck disable=SC2086 # process ids
  end_processes $trial
  trial=
}

# Waits until no process has the database open, or names one that still does. SQLite's locks, checked later, also cover
# processes in other containers; this check also covers a database that is damaged or was removed.
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
  # The link target of a removed file ends in " (deleted)".
  { find /proc/[0-9]*/fd -lname "$pattern" -o -lname "$pattern (deleted)" -o -lname "$pattern-[jsw]*" || :; } 2>/dev/null |
    sed -n '1s|^/proc/\([0-9]*\)/.*|\1|p'
}
