#!/bin/sh
# Usage: run.sh start | test [ARGUMENT...] | dev | bench [ARGUMENT...]
# What npm start, npm test, npm run dev and npm run bench run, after setting up what is missing.
# The last program replaces this one, so that signals reach it.

set -eu
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
task=${1-}
[ $# -eq 0 ] || shift

case $task in
  start | test | dev) sh scripts/set-up.sh ;;
  bench) sh scripts/set-up.sh test/bench ;;
  --help) usage && exit 0 ;;
  *) usage >&2 && exit 2 ;;
esac

# shellcheck source=scripts/find-node.sh
. scripts/find-node.sh

case $task in
  start) exec "$node" src/bin/start.ts "$@" ;;
  dev) exec "$node" src/bin/start.ts --watch "$@" ;;
  bench) exec "$node" test/bench/run-bench.ts "$@" ;;
esac

"$node" node_modules/typescript/bin/tsc -p .
named=no
for argument in "$@"; do
  case $argument in -*) ;; *) named=yes ;; esac
done
[ "$named" = yes ] || set -- "$@" test/*.test.ts
# As many files at once as there are processors; Node itself would leave one of them idle.
exec "$node" --test --test-timeout=300000 --test-concurrency="$(nproc)" "$@"
