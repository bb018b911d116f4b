# shellcheck shell=sh disable=SC2034
# Sourced. Root switches to the account that owns the database: the hub could not read files that root makes in
# DATA_DIR.

# require_hub DATA_DIR: fails with the reason if there has never been a hub, as in a mistyped DATA_DIR. If this account
# may not read DATA_DIR, require_owner says so.
require_hub() {
  [ -e "$1/hub.db" ] || [ -d "$1/run" ] || { [ -d "$1" ] && [ ! -x "$1" ]; } || {
    echo "no hub is in DATA_DIR yet ($1/hub.db is missing): check DATA_DIR, or run npm start" >&2
    return 1
  }
}

# find_owner DATA_DIR: sets $whose, the file that shows the owner, and $switch, the command prefix that runs a program
# as that account (empty if no switch is needed). Makes DATA_DIR if it is missing, as on a new machine, but not its
# parent: a disk may not be mounted.
find_owner() {
  switch=
  [ -e "$1" ] || mkdir -m 0700 -- "$1" || return
  # The hub's account is the owner of hub.db, or of the folder run/ while a restore has moved hub.db away. DATA_DIR may
  # be a symbolic link. Links in DATA_DIR are not followed: the hub's account could point them at files of root.
  whose=$1/.
  if [ -d "$1/run" ] && [ ! -L "$1/run" ]; then whose=$1/run; fi
  if [ -f "$1/hub.db" ] && [ ! -L "$1/hub.db" ]; then whose=$1/hub.db; fi
  [ "$(id -u)" -eq 0 ] || return 0
  ids=$(stat -c '%u %g' -- "$whose") || return
  owner=${ids% *}
  [ "$owner" -ne 0 ] || return 0
  switch=$(command_prefix "$owner" "${ids#* }")
}

# After find_owner: runs a program as the owner.
as_owner() {
  # shellcheck disable=SC2086 # words
  $switch "$@"
}

# command_prefix UID GID: prints the words that, before a command, run it as that account.
command_prefix() {
  groups=--init-groups
  getent passwd "$1" >/dev/null || groups=--clear-groups
  echo "setpriv --reuid=$1 --regid=$2 $groups --"
}

# require_owner DATA_DIR: fails with the reason unless this account is root or the owner that find_owner has found.
require_owner() {
  [ "$(id -u)" -eq 0 ] || [ "$(id -u)" = "$(stat -c %u -- "$whose")" ] || {
    echo "$1 belongs to $(stat -c %U -- "$whose"): run this as that account or as root" >&2
    return 1
  }
}

# go_on_as_owner DATA_DIR SCRIPT [ARGUMENT...]: as root, replaces this process by SCRIPT, run as the owner.
go_on_as_owner() {
  find_owner "$1" && require_owner "$1" || return
  [ -n "$switch" ] || return 0
  shift
  # rclone's configuration is in HOME.
  HOME=$(getent passwd "$owner" | cut -d : -f 6)
  export HOME="${HOME:-/}"
  # shellcheck disable=SC2086 # several words
  exec $switch sh "$@"
}
