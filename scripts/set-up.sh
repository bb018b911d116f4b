#!/bin/sh
# Usage: set-up.sh [FOLDER]
# Installs what the hub needs, inside the project: a private Node unless the machine has 24.7 or newer, and the packages
# of package-lock.json, with FOLDER also the packages of FOLDER/package-lock.json. Silent if nothing is missing. Never
# runs a package's install script.

set -eu
case ${1-} in
  --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
  -*) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
. scripts/find-node.sh

# install_packages leaves a copy of the lock file in node_modules: the copy shows which packages are installed.
is_installed() {
  cmp -s "$1/package-lock.json" "$1/node_modules/.installed-lock.json"
}

# Without a network npm is silent for more than a minute. This function asks the registry once, and says within five
# seconds if the registry does not answer. An answer that fails to come stops nothing, so set-up still works in a slow
# network. npm's own time limit does not cover name lookups, but `timeout` does.
tell_if_offline() {
  [ "${npm_config_offline-}" != true ] || return 0
  sleep 1 >/dev/null 2>&1
  set -- npm ping --fetch-retries=0 --fetch-timeout=2000 --loglevel=error
  if command -v timeout >/dev/null; then set -- timeout 3 "$@"; fi
  reason=$("$@" 2>&1) && return 0
  code=$(printf '%s\n' "$reason" | sed -n 's/^npm \(error\|ERR!\) code //p' | head -n 1)
  case $code in E[45][0-9][0-9]) return 0 ;; esac # the registry answers, although it has no ping
  echo "set-up: the npm registry does not answer (${code:-no answer}): is this machine online? \
npm tries on for a minute or two" >&2
}

install_packages() {
  is_installed "$1" && return 0
  if ! said=$(cd "$1" && npm ci --ignore-scripts --loglevel=error 2>&1); then
    printf '%s\nset-up: npm could not install the packages of %s\n' "$said" "$1/package-lock.json" >&2
    exit 1
  fi
  cp "$1/package-lock.json" "$1/node_modules/.installed-lock.json"
}

extra=${1-.}
if [ -n "$node" ] && is_installed . && is_installed "$extra"; then exit 0; fi

# Only one set-up runs at a time: a second set-up waits for the first, then finds nothing to do. If flock is missing,
# set-up takes no lock.
mkdir -p .runtime
exec 9>.runtime/set-up.lock
if command -v flock >/dev/null; then
  flock 9
  rm -rf .runtime/.partial-* # left by a killed run
fi

[ -n "$node" ] || . scripts/find-node.sh
[ -z "$node" ] || PATH="$(dirname -- "$node"):$PATH"
if ! command -v npm >/dev/null; then
  echo 'set-up: npm is not on PATH: install it (it usually comes with Node) and start again' >&2
  exit 1
fi
tell_if_offline 8>&- 9>&- &
watcher=$!
trap 'kill "$watcher" 2>/dev/null || true' EXIT
trap 'exit 1' HUP INT TERM

if [ -z "$node" ]; then
  sh scripts/bring-node.sh
  . scripts/find-node.sh
  PATH="$(dirname -- "$node"):$PATH"
fi
install_packages .
install_packages "$extra"
