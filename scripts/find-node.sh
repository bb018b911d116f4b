# shellcheck shell=sh disable=SC2034,SC2154
# Sourced, with $root set to the project. Sets $node to a Node that can run the hub (24.7 or newer): HUB_NODE, else node
# on PATH, else the private Node that set-up.sh installs, else nothing. Exits with 2 if HUB_NODE is too old.

# new_enough NODE: whether the Node at this path is 24.7 or newer. A Node that a script above this one has tried is not
# tried again; the variable's name has the version, so that a version of the hub that wants a newer Node tries it.
new_enough() {
  [ "$1" != "${TRIED_NODE_24_7-}" ] || [ ! -x "$1" ] || return 0
  v=$("$1" --version 2>/dev/null) || return 1
  v=${v#v} && major=${v%%.*} && v=${v#*.} && minor=${v%%.*}
  case $major$minor in *[!0-9]* | '') return 1 ;; esac
  [ "$major" -gt 24 ] || { [ "$major" -eq 24 ] && [ "$minor" -ge 7 ]; }
}

# Sets $platform, and $pinned, the platform's Node in node.lock.
find_pinned() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) platform=linux-x64 ;;
    Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
    *) platform=$(uname -s)-$(uname -m) ;;
  esac
  pinned=$(sed -n "s/^$platform \([^ ]*\) .*/\1/p" "$root/scripts/node.lock")
}

if [ -n "${HUB_NODE-}" ]; then
  if ! { node=$(command -v -- "$HUB_NODE") && new_enough "$node"; }; then
    echo "HUB_NODE=$HUB_NODE is not Node 24.7 or newer" >&2
    exit 2
  fi
elif ! { node=$(command -v node) && new_enough "$node"; }; then
  find_pinned
  node=$root/.runtime/node-$pinned/bin/node
  { [ -n "$pinned" ] && new_enough "$node"; } || node=
fi
case $node in '' | /*) ;; *) node=$PWD/$node ;; esac
[ -z "$node" ] || export TRIED_NODE_24_7="$node"
