#!/bin/sh
# Usage: healthcheck.sh [--worker]
# Checks the health of the hub, for systemd, containers and monitoring. HOST and PORT come from the environment or .env.
# Exit 0: web is ready. 1: web is not ready, or did not answer within 5 s; the reason is on standard error.
# With --worker, exit 0: the worker was seen within the last 30 s. 1: the worker was not seen. 75: web is not ready.
# Exit 75 also if the hub has lost its database: a restart would close the handle that still has what was stored.

set -eu
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
case ${1-} in '' | --worker) ;; --help) usage && exit 0 ;; *) wrong_usage ;; esac
. "$root/scripts/find-node.sh"

if [ -z "$node" ]; then
  echo 'healthcheck: the hub is not set up yet' >&2
  exit 1
fi
exec "$node" --disable-sigusr1 "$root/src/bin/healthcheck.ts" "$@"
