# shellcheck shell=sh disable=SC2034
# Sourced. Files that root created in DATA_DIR would be inaccessible to the account that the hub runs as. Therefore
# root switches to that account: the one that owns the database.

# require_hub DATA_DIR: fails with the reason where there is no hub and never was, as in a DATA_DIR that was mistyped.
# Where this account may not look, require_owner says so.
require_hub() {
  [ -e "$1/hub.db" ] || [ -d "$1/run" ] || { [ -d "$1" ] && [ ! -x "$1" ]; } || {
    echo "no hub is in DATA_DIR yet ($1/hub.db is missing): check DATA_DIR, or run npm start" >&2
    return 1
  }
}

# find_owner DATA_DIR: sets $whose, the file that tells the owner, and $switch to the command prefix that runs a program
# as that account; to the empty string if no switch is needed. Makes the folder if it is missing, as on a new machine,
# but not the one above it: a disk may not be mounted.
find_owner() {
  switch=
  [ -e "$1" ] || mkdir -m 0700 -- "$1" || return
  # During a restore there may be no database; run/ then tells the owner as well. Symbolic links inside DATA_DIR are not
  # followed, since that account could point them at files of root; DATA_DIR itself may be a link.
  whose=$1/.
  if [ -d "$1/run" ] && [ ! -L "$1/run" ]; then whose=$1/run; fi
  if [ -f "$1/hub.db" ] && [ ! -L "$1/hub.db" ]; then whose=$1/hub.db; fi
  [ "$(id -u)" -eq 0 ] || return 0
  ids=$(stat -c '%u %g' -- "$whose") || return
  owner=${ids% *}
  [ "$owner" -ne 0 ] || return 0
  groups=--init-groups
  getent passwd "$owner" >/dev/null || groups=--clear-groups
  switch="setpriv --reuid=$owner --regid=${ids#* } $groups --"
}

# require_owner DATA_DIR: after find_owner; fails with the reason if this account cannot do what the owner does.
require_owner() {
  [ "$(id -u)" -eq 0 ] || [ "$(id -u)" = "$(stat -c %u -- "$whose")" ] || {
    echo "$1 belongs to $(stat -c %U -- "$whose"): run this as that account or as root" >&2
    return 1
  }
}

# go_on_as_owner DATA_DIR SCRIPT [ARGUMENT...]: when run as root, replaces this process by SCRIPT, run as that account.
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
