# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by off-site.sh. Encrypts the backup $dir for $recipient (BACKUP_AGE_RECIPIENT) as a stream: no plaintext is
# written to disk.

THREE_FILES='SHA256SUMS
hub.db
uploads.tar.gz'
SEALED=backup.tar.gz.age

# One -r for each recipient. hubctl config has checked that they contain nothing that the shell would expand.
run_age() {
  case $recipient in
    /*) age -R "$recipient" "$@" ;;
    *)
      for one in $recipient; do set -- -r "$one" "$@"; done
      age "$@"
      ;;
  esac
}

# age repeats its input in error messages, and that may be a secret key.
hide_secrets() {
  sed 's/[Aa][Gg][Ee]-[A-Za-z0-9-]*/(hidden)/g'
}

# Fails with the reason if backups cannot be encrypted.
seal_problem() {
  command -v age >/dev/null || trouble 'age is not installed, but BACKUP_AGE_RECIPIENT requires it: nothing is sent' ||
    return
  case $recipient in
    /*)
      [ -f "$recipient" ] && [ -r "$recipient" ] ||
        trouble "BACKUP_AGE_RECIPIENT: the file $recipient cannot be read" || return
      ! grep -qi 'AGE-SECRET-KEY' -- "$recipient" ||
        trouble "BACKUP_AGE_RECIPIENT: $recipient holds a secret key, which must not be on this machine" || return
      ;;
  esac
  said=$(run_age -o /dev/null 2>&1 </dev/null) ||
    trouble "age refuses BACKUP_AGE_RECIPIENT: $(printf '%s\n' "$said" | hide_secrets)"
}

# seal_into FILE: writes the encrypted backup and sets $sealed_hash to its SHA-256. Each step of the pipe reports its
# own success, since sh has no pipefail; a step that was killed reports nothing.
seal_into() {
  {
    { tar -C "${dir%/*}" --owner=0 --group=0 --no-recursion -cf - -- \
      "$name" "$name/SHA256SUMS" "$name/hub.db" "$name/uploads.tar.gz" && echo tar >&3; } |
      { gzip -1 && echo gzip >&3; } |
      { dd bs=1M iflag=fullblock 2>"$scratch/counted" && echo dd >&3; } |
      { run_age 2>"$scratch/age.said" && echo age >&3; } |
      { tee -- "$1" && echo tee >&3; } |
      { sha256sum >"$scratch/hash" && echo sha256sum >&3; }
  } 3>"$scratch/succeeded" || :
  if [ "$(grep -c . "$scratch/succeeded")" -ne 6 ]; then
    hide_secrets <"$scratch/age.said" >&2
    trouble "$1 could not be written; of tar, gzip, dd, age, tee and sha256sum only these succeeded:" \
      "$(tr '\n' ' ' <"$scratch/succeeded")"
    return
  fi
  # Encryption only adds bytes, so the output must be larger than the input that dd counted.
  [ "$(wc -c <"$1")" -gt "$(sed -n 's/^\([0-9]*\) bytes.*/\1/p' "$scratch/counted")" ] ||
    trouble "$1 is smaller than its plaintext: encryption was incomplete" || return
  sealed_hash=$(cut -c 1-64 "$scratch/hash")
}
