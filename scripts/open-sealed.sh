# shellcheck shell=sh disable=SC2154
# Sourced by verify-backup.sh. Decrypts a copy made by off-site-seal.sh with $key; sets $backup to the folder in
# $scratch that holds its three files. Anybody can encrypt for a public key, so the content is not trusted.

# open_sealed FILE-OR-FOLDER
open_sealed() {
  sealed=$1
  [ ! -d "$sealed" ] || sealed=$sealed/backup.tar.gz.age
  if [ ! -f "$sealed" ] || [ ! -r "$sealed" ]; then give_up "$sealed is not a readable file"; fi
  if [ ! -f "$key" ] || [ ! -r "$key" ]; then give_up "$key is not a readable key file"; fi
  command -v age >/dev/null || give_up 'age is not installed; it is needed for decryption'
  make_scratch "${TMPDIR:-/tmp}"
  mkdir "$scratch/opened"
  part unseal || give_up "$sealed could not be fully decrypted: $(tail -n 3 "$scratch/said")"
  name=$(ls -A "$scratch/opened")
  case $name in
    [0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]-[0-9][0-9][0-9][0-9][0-9][0-9]) backup=$scratch/opened/$name ;;
    *) give_up "$sealed must contain exactly one backup folder" ;;
  esac
  if [ ! -d "$backup" ] || [ -L "$backup" ]; then give_up "$sealed: $name is not a folder"; fi
  chmod 0700 "$backup"
}

# Each step reports its own success, since sh has no pipefail. Unpacks at most 90 % of the free space.
unseal() {
  free=$(df -Pk -- "$scratch" | awk 'NR == 2 { print $4 }')
  {
    { age -d -i "$key" -- "$sealed" 2>>"$scratch/said" </dev/null && echo age >&3; } |
      { gzip -dc 2>>"$scratch/said" && echo gzip >&3; } |
      { head -c "$((free * 1024 * 9 / 10))" && echo head >&3; } |
      { tar -xf - -C "$scratch/opened" --no-same-owner --no-same-permissions 2>>"$scratch/said" && echo tar >&3; }
  } 3>"$scratch/succeeded" || :
  [ "$(grep -c . "$scratch/succeeded")" -eq 4 ]
}
