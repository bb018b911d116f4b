# shellcheck shell=sh disable=SC2154
# Sourced, with $root set to the project. Stops and starts the hub, whatever runs it: the operator's own commands, the
# processes of npm start, which wait by themselves while a restore is under way, or the systemd units.

# shellcheck source=scripts/as-owner.sh
. "$root/scripts/as-owner.sh"

WEB=content-hub-web.service
WORKER=content-hub-worker.service

# Sets $data, $switch, $driver and how long to wait, in seconds. Fails where the configuration does.
read_hub() {
  settings=$(sh "$root/scripts/hubctl" config DATA_DIR HUB_STOP_COMMAND HUB_START_COMMAND RESTORE_HEALTH_SECONDS \
    RESTORE_STOP_SECONDS) || return
  data=$(printf '%s\n' "$settings" | sed -n 1p)
  stop_command=$(printf '%s\n' "$settings" | sed -n 2p)
  start_command=$(printf '%s\n' "$settings" | sed -n 3p)
  patience=$(printf '%s\n' "$settings" | sed -n 4p)
  stop_patience=$(printf '%s\n' "$settings" | sed -n 5p)
  find_owner "$data" || return
  as_owner mkdir -p -m 0700 -- "$data/run"
  trial=
  driver=$(find_driver)
}

find_driver() {
  if [ -n "$stop_command" ]; then
    echo commands
  elif [ -n "$(started_by_npm)" ]; then
    echo npm
  elif has_units; then
    echo systemd
  else
    echo nobody
  fi
}

# The process of npm start, if it runs: a number in a file may be that of any process by now.
started_by_npm() {
  pid=$(cat -- "$data/run/hub.pid" 2>/dev/null) || return 0
  case $pid in '' | *[!0-9]*) return 0 ;; esac
  if tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -q '^\(.*/\)\{0,1\}src/bin/start\.ts$'; then echo "$pid"; fi
}

# Whether the units of this machine run the hub of this folder: there may be a second one, to try something.
has_units() {
  [ -d /run/systemd/system ] || return
  units=$(systemctl cat "$WEB" 2>/dev/null) || return
  guard="!$(printf '%s' "$data" | sed 's/%/%%/g')/run/restore-state.json"
  printf '%s\n' "$units" | grep -qxF "ConditionPathExists=$guard"
}

as_owner() {
  # shellcheck disable=SC2086 # words
  $switch "$@"
}

stop_hub() {
  case $driver in
    commands) sh -c "$stop_command" >&2 9>&- ;;
    systemd) systemctl stop "$WEB" "$WORKER" >&2 9>&- ;;
    npm)
      as_owner rm -f -- "$data/run/hub.failed"
      ! pid=$(started_by_npm) || [ -z "$pid" ] || kill -USR2 "$pid"
      ;;
    nobody) end_trial && nobody_answers ;;
  esac
}

# A hub that answers although nobody is known to run it is another one, or is run by something unknown.
nobody_answers() {
  ! sh "$root/scripts/healthcheck.sh" >/dev/null 2>&1 9>&- && return
  say 'a hub answers at HOST and PORT, and it is not known what runs it: stop it, or set HUB_STOP_COMMAND'
  return 1
}

# Where nobody runs the hub, it is left to whoever does to start it.
start_hub() {
  case $driver in
    commands) sh -c "$start_command" >&2 9>&- ;;
    systemd)
      systemctl reset-failed "$WEB" "$WORKER" >/dev/null 2>&1 9>&- || : # one that tried in vain meanwhile
      start_units
      ;;
    npm) [ -n "$(started_by_npm)" ] ;;
  esac
}

# Returns when web is healthy. How long its unit waits for that is not what a restore wants to wait.
start_units() {
  timeout --foreground "$patience" systemctl start "$WEB" "$WORKER" >&2 9>&- && return
  [ $? -ne 124 ] || say "the hub is not ready after $patience s"
  return 1
}

# On the restored data: web alone is started, to be looked at and stopped again, where nobody runs the hub.
try_hub() {
  if [ "$driver" = nobody ]; then
    start_trial && await_hub && end_trial
  elif [ "$driver" = npm ]; then
    start_hub && await_hub "$data/run/hub.failed"
  else
    start_hub && await_hub
  fi
}

# await_hub [FILE]: no longer than until that file says that it is in vain. A Ctrl-C is for this script, which goes on,
# and not for whoever waits on its behalf.
await_hub() {
  (
    trap '' HUP INT TERM
    [ -z "$trial" ] || export MAINPID="$trial"
    [ $# -eq 0 ] || export FAILURE_FILE="$1"
    exec sh "$root/scripts/await-health.sh" "$patience" 1 9>&-
  ) || return
  [ -z "$trial" ] || kill -0 "$trial" 2>/dev/null
}

start_trial() {
  # shellcheck source=scripts/find-node.sh
  . "$root/scripts/find-node.sh"
  # Not by a function: its process would be a shell, and the hub one of that shell's.
  # shellcheck disable=SC2086 # words
  LOG_LEVEL=error $switch "$node" "$root/src/bin/launch.ts" web >&2 9>&- &
  trial=$!
}

end_trial() {
  [ -n "$trial" ] || return 0
  kill -TERM "$trial" 2>/dev/null || :
  wait "$trial" 2>/dev/null || :
  trial=
}

# Waits until no process has the database open, and names one that keeps it. SQLite tells too, but not of a file that
# is damaged or was removed; a process in another container, which this does not see, it does tell of.
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
  # The name is followed by " (deleted)" where it was removed.
  { find /proc/[0-9]*/fd -lname "$pattern" -o -lname "$pattern (deleted)" -o -lname "$pattern-[jsw]*" || :; } 2>/dev/null |
    sed -n '1s|^/proc/\([0-9]*\)/.*|\1|p'
}
