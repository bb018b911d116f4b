# shellcheck shell=sh disable=SC2034
# Sourced. What root made in DATA_DIR would be out of reach of the account that the hub runs as: root acts as that
# account, which is the one that owns the database.

# find_owner DATA_DIR: sets $switch to the words that run a program as that account; to nothing where we are it.
find_owner() {
  switch=
  [ "$(id -u)" -eq 0 ] || return 0
  # In the middle of a restore there may be no database; run/ is the hub's own too.
  # That account may have put links there, or a folder of root's by another name, which say nothing of whose the data is;
  # the folder itself may be behind a link.
  whose=$1/.
  if [ -d "$1/run" ] && [ ! -L "$1/run" ]; then whose=$1/run; fi
  if [ -f "$1/hub.db" ] && [ ! -L "$1/hub.db" ]; then whose=$1/hub.db; fi
  ids=$(stat -c '%u %g' -- "$whose") || return
  owner=${ids% *}
  [ "$owner" -ne 0 ] || return 0
  groups=--init-groups
  getent passwd "$owner" >/dev/null || groups=--clear-groups
  switch="setpriv --reuid=$owner --regid=${ids#* } $groups --"
}

# go_on_as_owner DATA_DIR SCRIPT [ARGUMENT...]: as root, SCRIPT takes the place of this process, as that account.
go_on_as_owner() {
  find_owner "$1" || return
  [ -n "$switch" ] || return 0
  shift
  # rclone has its configuration there.
  HOME=$(getent passwd "$owner" | cut -d : -f 6)
  export HOME="${HOME:-/}"
  # shellcheck disable=SC2086 # words
  exec $switch sh "$@"
}
