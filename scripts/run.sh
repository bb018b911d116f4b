#!/bin/sh
# Usage: run.sh start | dev | test [ARGUMENT...] | test:all | test:slow | test:mutations [WORD...] | bench [NAME...]
# What npm start, npm test and the other npm scripts run, after setting up what is missing. test:all is test, then
# test:slow: kills, full disks, browsers and booted systems. The last program replaces this one, so that signals reach it.

set -eu
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
task=${1-}
[ $# -eq 0 ] || shift

case $task in
  start | dev | test | test:all | test:slow | test:mutations) sh scripts/set-up.sh ;;
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
  test:mutations) exec "$node" test/mutations/run-mutations.ts "$@" ;;
esac

# Compiled modules are kept: 200 files that each load a hub would compile it 200 times.
export NODE_COMPILE_CACHE="$root/.runtime/compile-cache"
"$node" node_modules/typescript/bin/tsc -p .
if [ "$task" = test:all ]; then
  sh scripts/run.sh test
  task=test:slow
fi
named=no
for argument in "$@"; do
  case $argument in -*) ;; *) named=yes ;; esac
done
if [ "$named" = no ]; then
  case $task in
    test) set -- "$@" test/*.test.ts ;;
    test:slow) set -- "$@" test/slow/*.test.ts ;;
  esac
fi
# As many files at once as there are processors; Node itself would leave one of them idle.
exec "$node" --test --test-timeout=300000 --test-concurrency="$(nproc)" "$@"
