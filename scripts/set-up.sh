#!/bin/sh
# Usage: set-up.sh [FOLDER]
# Brings what the hub needs, all of it inside the project: a Node of its own where the machine has none of 24.7
# or newer, and the packages of package-lock.json (with FOLDER also those of FOLDER/package-lock.json).
# Does nothing and says nothing when everything is there. Never runs a package's install script.

set -eu
case ${1-} in
  --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
  -*) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
# shellcheck source=scripts/find-node.sh
. scripts/find-node.sh

# The copy of the lock file that an installation leaves in node_modules says what is installed.
is_installed() {
  cmp -s "$1/package-lock.json" "$1/node_modules/.installed-lock.json"
}

install_packages() {
  is_installed "$1" && return 0
  if ! said=$(cd "$1" && PATH="$(dirname -- "$node"):$PATH" npm ci --ignore-scripts --loglevel=error 2>&1); then
    printf '%s\nset-up: npm could not install the packages of %s\n' "$said" "$1/package-lock.json" >&2
    exit 1
  fi
  cp "$1/package-lock.json" "$1/node_modules/.installed-lock.json"
}

extra=${1-.}
if [ -n "$node" ] && is_installed . && is_installed "$extra"; then exit 0; fi

# One set-up at a time: a second one waits here and then finds everything done. Without flock it just runs.
mkdir -p .runtime
exec 9>.runtime/set-up.lock
if command -v flock >/dev/null; then
  flock 9
  rm -rf .runtime/.partial-* # of one that was killed
fi

[ -n "$node" ] || . scripts/find-node.sh
if [ -z "$node" ]; then
  sh scripts/bring-node.sh
  . scripts/find-node.sh
fi
install_packages .
install_packages "$extra"
