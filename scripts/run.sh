#!/bin/sh
# Usage: run.sh start | dev | test [ARGUMENT...] | test:all | test:slow | test:mutations [WORD...] | bench [NAME...] |
# screenshots [WORD...] | sbom
# Runs npm start, npm test and the other npm scripts, after installing missing packages. test:slow runs the tests with
# kills, full disks, browsers and booted systems; test:all runs quick and slow tests. The program replaces this shell,
# so that the program receives the signals.

set -eu
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
task=${1-}
[ $# -eq 0 ] || shift

# Whether the path is a file system in memory with 1 GiB free, from which programs may run.
is_roomy() {
  [ -w "$1" ] && awk -v at="$1" '$2 == at && $3 == "tmpfs" && $4 !~ /noexec/ { found = 1 } END { exit !found }' /proc/mounts &&
    df -Pk "$1" | awk 'NR == 2 { exit !($4 >= 1048576) }'
}

# Prints modules that import four of the test files each. A process for every file would load the hub's modules and
# compile its busy functions anew, which took a third of the time. Also prints the files whose tests look at all of
# their process, such as its memory; each of these files runs in a process of its own.
group_tests() {
  whole_process='process\.(memoryUsage|resourceUsage|getActive|on\(|emit)|/proc/self/fd|openHandles'
  grep -lE "$whole_process" "$@" || :
  # shellcheck disable=SC2046 # no file of the tests has a space in its name
  import_tests 4 $(grep -LE "$whole_process" "$@")
}

# import_tests N FILE...: prints modules that import N of the test files each. Node runs test files in the order of their
# names, and these modules have names in the order of the files.
import_tests() {
  rm -rf "$groups"
  mkdir -p "$groups"
  each=$1 && shift
  printf '%s\n' "$@" | awk -v groups="$groups" -v each="$each" '{
    name = $0
    gsub(/.*\/|\.test\.ts/, "", name)
    if ((NR - 1) % each == 0) { path = sprintf("%s/%03d-%s.mjs", groups, (NR - 1) / each, name); print path }
    print "import '"'../../"'" $0 "'"';"'" > path
  }'
}

case $task in
  start | dev | test | test:all | test:slow | test:mutations | screenshots | sbom) sh scripts/set-up.sh ;;
  bench) sh scripts/set-up.sh test/bench ;;
  --help) usage && exit 0 ;;
  *) usage >&2 && exit 2 ;;
esac

. scripts/find-node.sh

case $task in
  start)
    # The MALLOC_SETTINGS that supervise.ts gives to web and worker also save the supervisor 8 of 40 MiB.
    export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX-2}" MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_-131072}"
    exec "$node" --disable-sigusr1 src/bin/start.ts "$@"
    ;;
  sbom) exec "$node" --disable-sigusr1 scripts/sbom.ts ;;
  dev) exec "$node" --disable-sigusr1 src/bin/start.ts --watch "$@" ;;
  bench) exec "$node" test/bench/run-bench.ts "$@" ;;
  test:mutations) exec "$node" test/mutations/run-mutations.ts "$@" ;;
  screenshots) SCREENSHOTS="$*" exec "$node" --test test/screenshots.ts ;;
esac

# Caches compiled modules, or each of the 200 test files, and each hub that a test starts, would compile the hub again.
export NODE_COMPILE_CACHE="$root/.runtime/compile-cache"
"$node" node_modules/typescript/bin/tsc -p .
compiled=$root/.runtime/hub-modules
NODE_COMPILE_CACHE=$compiled/here "$node" test/support/compile-modules.ts
if [ "$task" != test ]; then # for copies of the project in booted systems
  NODE_COMPILE_CACHE=$compiled/anywhere NODE_COMPILE_CACHE_PORTABLE=1 "$node" test/support/compile-modules.ts
fi
if [ "$task" = test:all ]; then
  sh scripts/run.sh test
  task=test:slow
fi
# Quick tests keep their hubs in memory, so that thousands of commits wait for no disk. Slow tests keep hubs on disks.
if [ "$task" = test ] && [ -z "${TMPDIR-}" ] && is_roomy /dev/shm; then export TMPDIR=/dev/shm; fi
groups=.runtime/test-groups
named=no
for argument in "$@"; do
  case $argument in -*) ;; *) named=yes ;; esac
done
if [ "$named" = no ]; then
  # shellcheck disable=SC2046 # no file of the tests has a space in its name
  case $task in
    test) set -- "$@" $(group_tests $(find test -name '*.test.ts' ! -name '*.slow.test.ts' ! -path 'test/bench/*' | sort)) ;;
    # The longest ones, of upgrades, restores and whole hubs, go first, so that no processor waits for them in the end.
    test:slow) set -- "$@" $(import_tests 1 $(find test/scripts test/app -name '*.slow.test.ts' | sort -r) \
      $(find test -name '*.slow.test.ts' ! -path 'test/scripts/*' ! -path 'test/app/*' | sort -r)) ;;
  esac
fi
# Runs more test files at once than there are processors, because tests spend a quarter of their time waiting.
if [ "$task" = test ]; then more=2; else more=1; fi
exec "$node" --test --test-timeout=900000 --test-concurrency=$(($(nproc) + more)) "$@"
