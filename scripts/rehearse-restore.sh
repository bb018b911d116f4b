# shellcheck shell=sh disable=SC2154
# Sourced by verify-backup.sh and try-version.sh. Restores a backup into a temporary folder, starts a web process on the
# restored data on a free port, and requests pages and a file. No worker runs, so the temporary hub fetches and sends
# nothing. The hub's data is not touched.

# rehearse_restore BACKUP_DIR: restores the backup and requests pages and a file.
rehearse_restore() {
  echo 'Restore rehearsal'
  above=$(dirname -- "$(readlink -f -- "$1")") # the folder of the backup usually has room
  [ -w "$above" ] || above=/tmp
  make_scratch "${TMPDIR:-$above}"
  mkdir "$scratch/data"
  # On the hub's disk the hub's reserve (DISK_RESERVE_BYTES) must stay free.
  hub=$(sh "$root/scripts/hubctl" config DATA_DIR 2>/dev/null) || hub=
  KEEP_DISK_RESERVE=NO
  [ "$(stat -c %d -- "$hub" 2>/dev/null)" != "$(stat -c %d -- "$scratch")" ] || KEEP_DISK_RESERVE=YES
  export KEEP_DISK_RESERVE
  DATA_DIR=$scratch/data HOST=127.0.0.1 PORT=0 LOG_LEVEL=info CONFIRM_RESTORE=YES
  export DATA_DIR HOST PORT LOG_LEVEL CONFIRM_RESTORE
  began=$(date +%s)
  case $1 in -*) set -- "./$1" ;; esac
  restore_step begin "$1"
  restore_step swap
  restore_step open
  start_web
  hubctl rehearse "http://127.0.0.1:$port" 2>"$scratch/said" ||
    give_up "the restored hub failed a check: $(tail -n 1 "$scratch/said")"
  echo "REHEARSED: restored in $(($(date +%s) - began)) s; the restored hub answered every request."
}

restore_step() {
  hubctl restore "$@" >"$scratch/said" 2>&1 || give_up "the backup could not be restored: $(tail -n 1 "$scratch/said")"
}

# Starts web and sets $port once it listens.
start_web() {
  . "$root/scripts/find-node.sh"
  "$node" --disable-sigusr1 "$root/src/bin/launch.ts" web >"$scratch/web.log" 2>&1 &
  web=$!
  echo "$web" >"$scratch/web.pid" # for the next drill, if this rehearsal is killed
  tries=300
  while ! port=$(port_of_web); do
    tries=$((tries - 1))
    if [ "$tries" -le 0 ] || ! kill -0 "$web" 2>/dev/null; then
      give_up "the restored hub did not start: $(grep -m 1 'Error\|"level":"error"' "$scratch/web.log")"
    fi
    sleep 0.2
  done
}

port_of_web() {
  sed -n 's/.*"event":"listening".*"port":\([0-9]*\).*/\1/p' "$scratch/web.log" | grep .
}
