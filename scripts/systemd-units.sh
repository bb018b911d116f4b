# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by install-systemd.sh: fills in the placeholders of the units in scripts/systemd.

# In the lists of units, each timer comes before its service, or the timer could start the service again while the units
# are being removed.
ALL_UNITS='content-hub-web.service
content-hub-worker.service
content-hub-clamd-bridge.service
content-hub-backup.timer
content-hub-backup.service
content-hub-interim.timer
content-hub-interim.service
content-hub-health.timer
content-hub-health.service
content-hub-restore.path
content-hub-restore.service'

# Sets the values of the placeholders, and $user if it was not given. Refuses values that systemd cannot use.
read_values() {
  if [ -z "$node" ] || [ ! -d "$root/node_modules/better-sqlite3" ]; then
    die "the hub is not set up yet: run $root/scripts/set-up.sh once"
  fi
  # Reads settings from .env only, as the units do. scripts/hubctl would create DATA_DIR as root.
  values=$(env -i "$node" --disable-sigusr1 "$root/src/bin/hubctl.ts" config DATA_DIR PORT BACKUP_DIR BACKUP_OFFSITE_DIR \
    BACKUP_RESTIC_REPOSITORY) || exit
  {
    IFS= read -r data; IFS= read -r port; IFS= read -r backups; IFS= read -r offsite; IFS= read -r restic
  } <<VALUES || :
$values
VALUES
  case ${restic:=} in /*) ;; *) restic= ;; esac # only a repository on this machine needs a path
  [ "$port" != 0 ] || die 'PORT must not be 0: the health check needs a fixed port'
  owned=$data
  [ -d "$data" ] || owned=$root
  [ -n "$user" ] || user=$(stat -c %U -- "$owned")
  id -u -- "$user" >/dev/null 2>&1 || die "there is no account $user"
  if [ "$(id -u -- "$user")" -eq 0 ]; then
    [ "$task" = print ] || die 'the hub must not run as root: choose an account with --user'
    echo 'install-systemd: root owns the data; install with --user and a dedicated account' >&2
  fi
  home=$(getent passwd "$user" | cut -d : -f 6)
  protect_home=$(protection_of_homes "$root" "$data" "$node" "$backups")
  # rclone and ssh keep their configuration in the account's home.
  protect_home_backup=$(protection_of_homes "$root" "$data" "$node" "$backups" "$offsite" "$restic" "$home")
  for path in "$root" "$data" "$node" "$backups" "$offsite" "$restic" "$home"; do
    case $path in
      *[\"\'\\[:cntrl:]]* | *' ') die "systemd cannot use $path: no quotation marks, backslashes or trailing spaces" ;;
    esac
  done
  [ "$task" = print ] || [ -n "$image" ] || case $root/:$data/ in
    /tmp/* | /var/tmp/* | *:/tmp/* | *:/var/tmp/*) die 'the units have a private /tmp: move the hub elsewhere' ;;
  esac
}

# protection_of_homes PATH...: prints ProtectHome= of a unit that uses these paths: read-only if one of the paths, or a
# file that .env names, is in a home folder; otherwise yes, which hides home folders.
protection_of_homes() {
  for path in "$@"; do [ -z "$path" ] || readlink -m -- "$path"; done |
    cat - "$root/.env" 2>/dev/null | grep -qE '/(home|root|run/user)(/|$)' && echo read-only || echo yes
}

# Creates DATA_DIR for the account; refuses an existing folder that belongs to another account.
own_data() {
  [ -n "$image" ] || [ -d "$data" ] || install -d -m 0700 -o "$user" -- "$data"
  [ -n "$image" ] || [ "$(stat -c %U -- "$data")" = "$user" ] ||
    die "$data belongs to $(stat -c %U -- "$data"), not to $user: stop the hub, then chown -R $user '$data'"
}

# Escapes a value for sed's replacement text, and % for systemd.
escaped() {
  printf '%s' "$1" | sed 's/%/%%/g; s/[\\&|]/\\&/g'
}

# filling NAME VALUE: prints sed's command that fills in the placeholder, or removes its lines if there is no value.
filling() {
  if [ -n "$2" ]; then echo "s|@$1@|$(escaped "$2")|g"; else echo "/@$1@/d"; fi
}

# as_interim: turns the unit of the nightly backup, on standard input, into the unit of interim backups.
as_interim() {
  sed "s|^# The daily backup, called by content-hub-backup|# An interim backup, called by content-hub-interim|
    s|^Description=.*|Description=Content Hub: interim backup|
    s|/nightly-backup\.sh\" --timer$|/interim-backup.sh\" --every $every|"
}

# filled UNIT: prints the unit with its placeholders filled in.
filled() {
  if [ "$1" = content-hub-interim.service ]; then
    filled content-hub-backup.service | as_interim
    return
  fi
  elsewhere=$backups
  [ "$backups" != "$data/backups" ] || elsewhere=
  sed "/^#/!{
    s|@PROJECT@|$(escaped "$root")|g
    s|@DATA_DIR@|$(escaped "$data")|g
    s|@NODE@|$(escaped "$node")|g
    s|@USER@|$(escaped "$user")|g
    s|@HOME@|$(escaped "$home")|g
    s|@PORT@|$port|g
    s|@PROTECT_HOME@|$protect_home|g
    s|@PROTECT_HOME_BACKUP@|$protect_home_backup|g
    $(filling BACKUP_DIR "$elsewhere")
    $(filling OFFSITE_DIR "$offsite")
    $(filling RESTIC_DIR "$restic")
    $(filling INTERIM_HOURS "$(! is_interval "$every" || interim_hours "$every")")
  }" "$root/scripts/systemd/$1"
}
