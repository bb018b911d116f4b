# shellcheck shell=sh
# Sourced by drive-hub.sh and try-version.sh.

# end_processes PID...: ends children of this shell; after 20 s by force, since a process that hangs ignores SIGTERM.
end_processes() {
  for process in "$@"; do kill -TERM "$process" 2>/dev/null || :; done
  for process in "$@"; do
    tries=100
    while kill -0 "$process" 2>/dev/null && [ "$tries" -gt 0 ]; do
      tries=$((tries - 1))
      sleep 0.2
    done
    kill -KILL "$process" 2>/dev/null || :
    wait "$process" 2>/dev/null || :
  done
}
