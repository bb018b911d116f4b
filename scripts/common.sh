# shellcheck shell=sh disable=SC2034,SC2154
# Sourced first by the scripts that people, cron and systemd run. Sets $root, the project's folder.

root=$(readlink -f -- "$0")
root=${root%/*/*}

# Prints the script's header comment, which is its help.
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

wrong_usage() {
  usage >&2
  exit 2
}

# read_settings VARIABLE=SETTING...: sets each shell variable to the value of its setting.
read_settings() {
  settings=
  for pair; do settings="$settings ${pair#*=}"; done
  # shellcheck disable=SC2086 # several words
  values=$(cd -- "$root" && sh scripts/hubctl config $settings) || return
  for pair; do
    IFS= read -r "${pair%%=*}" || : # the last values may be empty
  done <<VALUES
$values
VALUES
}

# A long step runs in the background, so that the shell handles a signal at once.
child=

# run_child COMMAND...: runs a long step and returns its exit code.
run_child() {
  "$@" &
  child=$! ended=0
  wait "$child" || ended=$?
  child=
  return "$ended"
}

# For traps: ends the step of run_child with all its descendants.
stop_child() {
  [ -n "$child" ] || return 0
  end_family "$child"
  wait "$child" || :
  child=
}

end_family() {
  # shellcheck disable=SC2046 # process ids
  set -- "$1" $(cat "/proc/$1/task/$1/children" 2>/dev/null)
  kill -TERM "$1" 2>/dev/null || :
  shift
  for pid; do end_family "$pid"; done
}

# end_processes PID...: ends children of this shell: by SIGTERM, and by SIGKILL after 20 s.
end_processes() {
  for process in "$@"; do kill -TERM "$process" 2>/dev/null || :; done
  for process in "$@"; do
    tries=100
    while kill -0 "$process" 2>/dev/null && [ "$tries" -gt 0 ]; do
      tries=$((tries - 1))
      sleep 0.2
    done
    kill -KILL "$process" 2>/dev/null || :
    wait "$process" 2>/dev/null || :
  done
}

# SIGHUP, SIGINT and SIGTERM end the script with the usual exit codes; its trap for EXIT runs.
exit_on_signals() {
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# log_report FOLDER FILE: runs the function `report`, appends its output to the log FILE, and exits with the $status
# that `report` has set. If $status is not 0, also prints the end of the output on standard error. A log of 1 MiB is
# renamed FILE.1.
# shellcheck disable=SC2154 # report sets it
log_report() {
  log=$1/$2
  mkdir -p -- "$1"
  touch -- "$log" || exit 1
  [ "$(wc -c <"$log")" -lt 1048576 ] || { mv -f -- "$log" "$log.1" && : >"$log"; }
  before=$(wc -c <"$log")
  report >>"$log" 2>&1 </dev/null
  [ "$status" -eq 0 ] || tail -c "+$((before + 1))" "$log" | tail -n 100 >&2
  exit "$status"
}

# is_interval HOURS: whether interim backups may be made every so many hours. HOURS divides a day into equal parts, so
# that the nightly backup fits into the schedule of interim backups.
is_interval() {
  case $1 in 1 | 2 | 3 | 4 | 6 | 8 | 12) ;; *) return 1 ;; esac
}

# require_interval HOURS: ends the script unless HOURS is a valid value of the option --every.
require_interval() {
  is_interval "$1" || [ "$1" = 24 ] || { echo "--every must be 1, 2, 3, 4, 6, 8, 12 or 24 hours, not $1" >&2 && exit 2; }
}

# interim_hours HOURS: prints the hours of the day in which interim backups are made, separated by commas. The printed
# hours are HOURS apart; 3, the hour of the nightly backup, is left out.
interim_hours() {
  hour=$((3 + $1))
  while [ "$hour" -lt 27 ]; do
    echo $((hour % 24))
    hour=$((hour + $1))
  done | sort -n | paste -sd , -
}

# Names of files, in the order of `ls`: THREE_FILES in the folder of a backup, SEALED in the folder of an encrypted
# copy, INTERIM_FILES in the folder of an interim backup.
THREE_FILES='SHA256SUMS
hub.db
uploads.tar.gz'
SEALED=backup.tar.gz.age
INTERIM_FILES='SHA256SUMS
hub.db
uploads' # the last is a folder

# Hides secrets in messages. age repeats its input, which may be a secret key (AGE-SECRET-KEY, AGE-PLUGIN). Addresses
# may contain passwords and signatures.
hide_secrets() {
  sed -e 's/[Aa][Gg][Ee]-[SsPp][EeLl][CcUu][A-Za-z0-9-]*/(hidden)/g' -e 's|://[^/@[:space:]]*@|://(hidden)@|g' \
    -e 's|\(://[^?[:space:]]*\)?[^"[:space:]]*|\1?(hidden)|g'
}

# Sets $place, the beginning of the copies' paths at the off-site destination $destination. Needs $folder, $remote and
# $repository. Fails if the destination is not set.
find_place() {
  case $destination in
    dir) [ -n "$folder" ] && place=$folder/ ;;
    rclone) [ -n "$remote" ] && case $remote in *: | */) place=$remote ;; *) place=$remote/ ;; esac ;;
    restic) [ -n "$repository" ] && place=$(without_password "$repository")/ ;;
  esac
}

without_password() {
  printf '%s\n' "$1" | sed 's|//[^/@]*@|//|'
}

# Prints the text quoted as one word for the shell.
quoted() {
  case $1 in
    *[!A-Za-z0-9/._:@+-]* | '') printf "'%s'\n" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s\n' "$1" ;;
  esac
}
