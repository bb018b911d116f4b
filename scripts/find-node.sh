# shellcheck shell=sh disable=SC2034,SC2154
# Sourced, with $root set to the project. Sets $node to a Node that can run the hub (24.7 or newer): HUB_NODE, else node
# on PATH, else the private Node that set-up.sh installs, else nothing. Sets $platform, and $pinned, the platform's Node
# in node.lock. Exits with 2 if HUB_NODE is too old.

new_enough() {
  v=$("$1" --version 2>/dev/null) || return 1
  v=${v#v} && major=${v%%.*} && v=${v#*.} && minor=${v%%.*}
  case $major$minor in *[!0-9]* | '') return 1 ;; esac
  [ "$major" -gt 24 ] || { [ "$major" -eq 24 ] && [ "$minor" -ge 7 ]; }
}

case $(uname -s)-$(uname -m) in
  Linux-x86_64) platform=linux-x64 ;;
  Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
  *) platform=$(uname -s)-$(uname -m) ;;
esac
pinned=$(sed -n "s/^$platform \([^ ]*\) .*/\1/p" "$root/scripts/node.lock")

node=
if [ -n "${HUB_NODE-}" ]; then
  if ! new_enough "$HUB_NODE"; then
    echo "HUB_NODE=$HUB_NODE is not Node 24.7 or newer" >&2
    exit 2
  fi
  node=$(command -v -- "$HUB_NODE")
elif command -v node >/dev/null && new_enough node; then
  node=$(command -v node)
elif [ -n "$pinned" ] && new_enough "$root/.runtime/node-$pinned/bin/node"; then
  node=$root/.runtime/node-$pinned/bin/node
fi
case $node in '' | /*) ;; *) node=$PWD/$node ;; esac
