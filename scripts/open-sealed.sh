# shellcheck shell=sh disable=SC2154,SC2034,SC2153
# Sourced by verify-backup.sh and restore.sh. Decrypts a copy made by off-site-seal.sh, as a stream, with the key file
# $key. Anybody can encrypt for a public key, so the content is not trusted: it is unpacked with the rights of the hub's
# account ($switch, see as-owner.sh).

# find_sealed FILE-OR-FOLDER: sets $sealed to the encrypted file. Gives up if the encrypted file cannot be read.
find_sealed() {
  sealed=$1
  [ ! -d "$sealed" ] || sealed=$sealed/$SEALED
  if [ ! -f "$sealed" ] || [ ! -r "$sealed" ]; then give_up "$sealed is not a readable file"; fi
}

# require_key COPY: gives up unless the key file $key is readable and age is installed.
require_key() {
  [ -n "$key" ] || give_up "$1 is encrypted: add --identity KEY, the file that holds the secret key"
  if [ ! -f "$key" ] || [ ! -r "$key" ]; then give_up "$key is not a readable key file"; fi
  command -v age >/dev/null || give_up 'age is not installed; it is needed for decryption'
}

# unseal NAME COMMAND...: decrypts and unpacks the command's output into $opened, and sets $backup to the backup's
# folder in $opened. Messages of the programs go to $scratch.
unseal() {
  run_child run_pipe "$@" || give_up "$1 could not be fully decrypted: $(why_unsealing_failed)"
  name=$(ls -A "$opened")
  case $name in
    [0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]-[0-9][0-9][0-9][0-9][0-9][0-9]) backup=$opened/$name ;;
    *) give_up "$1 must contain exactly one backup folder" ;;
  esac
  if [ ! -d "$backup" ] || [ -L "$backup" ]; then give_up "$1: $name is not a folder"; fi
  $switch chmod 0700 "$backup"
}

# Prints 90 % of the free space, in bytes, so that no copy can fill the hub's disk.
most_to_unpack() {
  df -Pk -- "$opened" | awk 'NR == 2 { printf "%.0f\n", $4 * 1024 * 0.9 }'
}

# Each program of the pipe reports its own success, because sh has no pipefail.
run_pipe() {
  shift
  : >"$scratch/said"
  {
    { "$@" 2>>"$scratch/said" </dev/null && echo source >&3; } |
      { age -d -i "$key" 2>>"$scratch/said" && echo age >&3; } |
      { gzip -dc 2>>"$scratch/said" && echo gzip >&3; } |
      { head -c "$(most_to_unpack)" && echo head >&3; } |
      { $switch tar -xf - -C "$opened" --no-same-owner --no-same-permissions 2>>"$scratch/said" && echo tar >&3; }
  } 3>"$scratch/succeeded" || :
  [ "$(grep -c . "$scratch/succeeded")" -eq 5 ]
}

# Prints why decryption failed: the first two messages of the pipe's programs. If gzip failed without a message, the
# reader of gzip's output stopped early, because the disk is full.
why_unsealing_failed() {
  if ! grep -qx gzip "$scratch/succeeded" && ! grep -q '^\(age\|gzip\):' "$scratch/said"; then
    echo "there is not enough free space in $opened to unpack it"
  else
    head -n 2 "$scratch/said"
  fi
}
