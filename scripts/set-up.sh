#!/bin/sh
# Usage: set-up.sh [FOLDER]
# Installs what the hub needs, all of it inside the project: a private Node if the machine has none of version 24.7 or
# newer, and the packages of package-lock.json (with FOLDER also those of FOLDER/package-lock.json).
# Silent if everything is already installed. Never runs a package's install script.

set -eu
case ${1-} in
  --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
  -*) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
# shellcheck source=scripts/find-node.sh
. scripts/find-node.sh

# install_packages leaves a copy of the lock file in node_modules, which tells what is installed.
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

# One set-up at a time: a second one waits here and then finds everything done. Where flock is missing there is no lock.
mkdir -p .runtime
exec 9>.runtime/set-up.lock
if command -v flock >/dev/null; then
  flock 9
  rm -rf .runtime/.partial-* # left by a run that was killed
fi

[ -n "$node" ] || . scripts/find-node.sh
if [ -z "$node" ]; then
  sh scripts/bring-node.sh
  . scripts/find-node.sh
fi
install_packages .
install_packages "$extra"
