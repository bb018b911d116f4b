#!/bin/sh
# Usage: healthcheck.sh [--worker]
# Exit 0 if the web process reports that it is ready; 1, with the reason on standard error, if it does not within 5 s.
# With --worker, 0 if it reports that the worker was seen within the last 30 s, 1 if it was not, 75 if web is not ready.
# For systemd, containers and monitoring. HOST and PORT come from the environment or .env.

set -eu
case ${1-} in
  '' | --worker) ;;
  --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
  *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
# shellcheck source=scripts/find-node.sh
. "$root/scripts/find-node.sh"

if [ -z "$node" ]; then
  echo 'healthcheck: the hub is not set up yet' >&2
  exit 1
fi
exec "$node" "$root/src/bin/healthcheck.ts" "$@"
