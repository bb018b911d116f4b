#!/bin/sh
# Usage: bring-node.sh
# Installs the Node pinned in node.lock from the npm registry into .runtime/node-<version>. Checks the hash of the Node
# package before unpacking the package. If the installation fails, this script leaves no files behind.

set -eu
case ${1-} in
  '') ;;
  --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
  *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

die() {
  echo "set-up: $*" >&2
  exit 1
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
. scripts/find-node.sh
find_pinned

[ -n "$pinned" ] || die "no Node is pinned for $platform: install Node 24.7 or newer, or set HUB_NODE to one"
command -v npm >/dev/null || die 'npm is not on PATH: install Node 24.7 or newer with npm, or set HUB_NODE to one'
integrity=$(sed -n "s/^$platform $pinned //p" scripts/node.lock)
package=node-$platform

mkdir -p .runtime
partial=$(mktemp -d "$root/.runtime/.partial-XXXXXX")
trap 'rm -rf "$partial"' EXIT
trap 'exit 1' HUP INT TERM

npm pack "$package@$pinned" --pack-destination "$partial" --ignore-scripts --loglevel=error \
  >"$partial/npm.log" 2>&1 || { cat "$partial/npm.log" >&2 && die "npm could not download $package@$pinned"; }
archive=$partial/$package-$pinned.tgz

# The hash is computed by the Node that npm runs on, of any version.
hash=$(node -e '
  const bytes = require("fs").readFileSync(process.argv[1]);
  console.log("sha512-" + require("crypto").createHash("sha512").update(bytes).digest("base64"));
' "$archive")
[ "$hash" = "$integrity" ] || die "$package@$pinned is refused: its hash differs from the one in scripts/node.lock"

mkdir "$partial/node"
tar -xzof "$archive" -C "$partial/node" --strip-components=1 package/bin/node package/LICENSE
new_enough "$partial/node/bin/node" || die "Node $pinned for $platform does not run on this system: set HUB_NODE"

rm -rf ".runtime/node-$pinned"
mv "$partial/node" ".runtime/node-$pinned"
echo "set-up: Node $pinned is in .runtime/ (hash checked), because this machine has no Node of 24.7 or newer" >&2
