# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by install-systemd.sh: the units of scripts/systemd, and how their placeholders are filled in.

# Timers before what they start, so that it is not started again while it is being removed.
ALL_UNITS='content-hub-web.service
content-hub-worker.service
content-hub-clamd-bridge.service
content-hub-backup.timer
content-hub-backup.service
content-hub-health.timer
content-hub-health.service'

without_bridge() {
  printf '%s\n' "$ALL_UNITS" | grep -v clamd-bridge
}

# Sets $data, $offsite, $home and, where it is not given, $user; refuses what the units cannot work with.
read_values() {
  if [ -z "$node" ] || [ ! -d "$root/node_modules/better-sqlite3" ]; then
    die "the hub is not set up yet: run $root/scripts/set-up.sh once"
  fi
  # Out of .env alone, as that is all the units will see. Not by scripts/hubctl, which would make DATA_DIR, as root.
  values=$(env -i "$node" "$root/src/bin/hubctl.ts" config DATA_DIR PORT BACKUP_OFFSITE_DIR) || exit
  { IFS= read -r data; IFS= read -r port; IFS= read -r offsite; } <<VALUES || :
$values
VALUES
  [ "$port" != 0 ] || die 'PORT is 0: the health check would not know where web listens'
  owned=$data
  [ -d "$data" ] || owned=$root
  [ -n "$user" ] || user=$(stat -c %U -- "$owned")
  id -u -- "$user" >/dev/null 2>&1 || die "there is no account $user"
  if [ "$(id -u -- "$user")" -eq 0 ]; then
    [ "$task" = print ] || die 'the hub should not run as root: name an account with --user'
    echo 'install-systemd: root owns the data; install with --user and an account made for the hub' >&2
  fi
  home=$(getent passwd "$user" | cut -d : -f 6)
  for path in "$root" "$data" "$node" "$offsite" "$home"; do
    case $path in
      *[\"\'\\[:cntrl:]]* | *' ') die "systemd cannot name $path: no quotation marks, backslashes or final spaces" ;;
    esac
  done
  [ "$task" = print ] || [ -n "$image" ] || case $root/:$data/ in
    /tmp/* | /var/tmp/* | *:/tmp/* | *:/var/tmp/*) die 'the units have a /tmp of their own: move the hub elsewhere' ;;
  esac
}

# The data belong to the account; a folder that is there is not taken from its owner.
own_data() {
  [ -n "$image" ] || [ -d "$data" ] || install -d -m 0700 -o "$user" -- "$data"
  [ -n "$image" ] || [ "$(stat -c %U -- "$data")" = "$user" ] ||
    die "$data belongs to $(stat -c %U -- "$data"), not to $user: stop the hub, then chown -R $user '$data'"
}

# For the right side of sed, in a unit, where % begins a specifier.
escaped() {
  printf '%s' "$1" | sed 's/%/%%/g; s/[\\&|]/\\&/g'
}

# filled UNIT: prints it.
filled() {
  drop='/@OFFSITE_DIR@/d'
  [ -z "$offsite" ] || drop="s|@OFFSITE_DIR@|$(escaped "$offsite")|g"
  sed "/^#/!{
    s|@PROJECT@|$(escaped "$root")|g
    s|@DATA_DIR@|$(escaped "$data")|g
    s|@NODE@|$(escaped "$node")|g
    s|@USER@|$(escaped "$user")|g
    s|@HOME@|$(escaped "$home")|g
    $drop
  }" "$root/scripts/systemd/$1"
}
