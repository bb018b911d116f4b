#!/bin/sh
# Usage: try-version.sh PROJECT DATA_DIR [--allow-unsafe]
# Internal step of upgrade.sh, not for operators. Checks that the version in the folder PROJECT accepts its .env and
# migrates the copied database in DATA_DIR, that web answers there on a free local port, and that the worker runs. Web
# and worker run in a trial, in which they fetch, send and store nothing. With --allow-unsafe, a version with migrations
# that may lose data passes without being tried.

set -eu
umask 077
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
[ "${1-}" != --help ] || { usage && exit 0; }
case $#-${3-} in 2- | 3---allow-unsafe) ;; *) wrong_usage ;; esac

. "$root/scripts/rehearse-restore.sh"
root=$1 scratch=$2 web='' worker=''
DATA_DIR=$2 HOST=127.0.0.1 PORT=0 LOG_LEVEL=info
export DATA_DIR HOST PORT LOG_LEVEL

# shellcheck disable=SC2317 # called by rehearse-restore.sh
give_up() {
  echo "upgrade: $*" | sed 's/the restored hub/the new version/' >&2
  exit 1
}

# shellcheck disable=SC2317 # called by the trap
clean_up() {
  # shellcheck disable=SC2086 # process ids
  end_processes $web $worker
}

trap clean_up EXIT
trap 'exit 130' HUP INT TERM
if ! sh "$root/scripts/hubctl" migrate >"$scratch/said" 2>&1; then
  if [ -n "${3-}" ] && grep -q 'is not safe to apply by itself' "$scratch/said"; then exit 0; fi
  give_up "$(tail -n 1 "$scratch/said" | sed 's|\./scripts/hubctl migrate --allow-unsafe|upgrade.sh --allow-unsafe|')"
fi
mkdir -p "$scratch/run"
echo '{"phase":"rehearsal"}' >"$scratch/run/restore-probation.json"
start_web
sh "$root/scripts/hubctl" rehearse "http://127.0.0.1:$port" >"$scratch/said" 2>&1 ||
  give_up "the new version failed a check: $(tail -n 1 "$scratch/said")"
began=$(date +%s)
"$node" --disable-sigusr1 "$root/src/bin/launch.ts" worker >"$scratch/worker.log" 2>&1 &
worker=$!
until sh "$root/scripts/hubctl" await-writes --seconds 1 "${began}000" worker >"$scratch/said" 2>&1; do
  if ! kill -0 "$worker" 2>/dev/null; then
    problem=$(grep -m 1 'Error\|"level":"error"' "$scratch/worker.log") || problem=$(tail -n 1 "$scratch/worker.log")
    give_up "the worker of the new version did not start: $problem"
  fi
  [ "$(($(date +%s) - began))" -lt 60 ] || give_up "the worker of the new version showed no \
sign of life for 60 s: $(tail -n 1 "$scratch/worker.log")"
done
# Checks that the modules of npm start can be loaded: start.ts then refuses the unknown argument with exit code 2.
status=0
"$node" --disable-sigusr1 "$root/src/bin/start.ts" --nonsense >"$scratch/said" 2>&1 || status=$?
[ "$status" -eq 2 ] || give_up "npm start cannot be loaded: $(tail -n 1 "$scratch/said")"
