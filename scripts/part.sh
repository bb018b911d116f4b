# shellcheck shell=sh
# Sourced. What takes long runs in the background, so that a signal is handled at once, and ends with all that it has
# started.

# part COMMAND...: runs it, and fails as it does.
child=
part() {
  "$@" &
  child=$! ended=0
  wait "$child" || ended=$?
  child=
  return "$ended"
}

# Ends what `part` has started, with all that it has started; for traps.
stop_part() {
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
  for one; do end_family "$one"; done
}
