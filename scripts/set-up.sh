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

# Without a network npm is silent for more than a minute. This function connects to the registry, or to npm's proxy, and
# says if that has no address, refuses, or takes more than 5 s. A slow answer is none of these.
tell_if_offline() {
  [ "${npm_config_offline-}" != true ] || return 0
  sleep 1 >/dev/null 2>&1
  registry=$(npm config get https-proxy proxy registry 2>/dev/null | sed -n 's|^[a-z-]*=\(https\{0,1\}://.*\)|\1|p' | head -n 1)
  code=$(node -e '
    const url = new URL(process.env.HTTPS_PROXY || process.env.https_proxy || process.argv[1]);
    const host = url.hostname.replace(/[[\]]/g, ""), port = url.port || (url.protocol === "http:" ? 80 : 443);
    const end = (code) => { console.log(code); process.exit(); };
    require("net").connect({ host, port, timeout: 5000 })
      .on("connect", () => end("")).on("timeout", () => end("ETIMEDOUT")).on("error", ({ code }) => end(code));
  ' "$registry" 2>/dev/null) || return 0
  case $code in ENOTFOUND | EAI_AGAIN | ECONNREFUSED | ETIMEDOUT) ;; *) return 0 ;; esac
  echo "set-up: the npm registry does not answer ($code): is this machine online? npm tries on for a minute or two" >&2
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
phase= # the first line of the state of an upgrade
[ ! -r .runtime/upgrade/state ] || read -r phase <.runtime/upgrade/state || :
if [ "$phase" = phase=switching ] || [ "$phase" = phase=undoing ]; then
  echo 'set-up: an upgrade was interrupted, and files of two versions are here: run ./scripts/upgrade.sh --recover' >&2
  exit 1
fi

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
# npm runs on Node too, perhaps beside the hub: see NO_DEBUGGER in src/app/processes/supervise.ts.
if NODE_OPTIONS='' node --disable-sigusr1 --version >/dev/null 2>&1; then
  export NODE_OPTIONS="--disable-sigusr1 ${NODE_OPTIONS-}"
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
