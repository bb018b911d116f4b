# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by verify-backup.sh and restore.sh. Decrypts a copy made by off-site-seal.sh with $key, as a stream. Anybody
# can encrypt for a public key, so the content is not trusted: it is unpacked with the rights of $switch (see
# as-owner.sh; empty for one's own).

# shellcheck source=scripts/copy-form.sh
. "$root/scripts/copy-form.sh"

# require_key: gives up unless something can be decrypted.
require_key() {
  if [ ! -f "$key" ] || [ ! -r "$key" ]; then give_up "$key is not a readable key file"; fi
  command -v age >/dev/null || give_up 'age is not installed; it is needed for decryption'
}

# unseal NAME COMMAND...: unpacks what the command prints into $opened, notes what the programs say in $scratch, and
# sets $backup to the folder with the backup's three files.
unseal() {
  part run_pipe "$@" || give_up "$1 could not be fully decrypted: $(why_unsealing_failed)"
  name=$(ls -A "$opened")
  case $name in
    [0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]-[0-9][0-9][0-9][0-9][0-9][0-9]) backup=$opened/$name ;;
    *) give_up "$1 must contain exactly one backup folder" ;;
  esac
  if [ ! -d "$backup" ] || [ -L "$backup" ]; then give_up "$1: $name is not a folder"; fi
  $switch chmod 0700 "$backup"
}

# 90 % of the free space, in bytes: whatever a copy holds, it does not fill the disk of the hub.
most_to_unpack() {
  df -Pk -- "$opened" | awk 'NR == 2 { printf "%.0f\n", $4 * 1024 * 0.9 }'
}

# Each step reports how it ended, since sh has no pipefail.
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

# Of all that was said the first is the cause. A gzip that ended without a word was not read to its end: the disk is full.
why_unsealing_failed() {
  if ! grep -qx gzip "$scratch/succeeded" && ! grep -q '^\(age\|gzip\):' "$scratch/said"; then
    echo "there is not enough free space in $opened to unpack it"
  else
    head -n 2 "$scratch/said"
  fi
}
