# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by off-site.sh. Encrypts the backup $dir for $recipient (BACKUP_AGE_RECIPIENT) as a stream, without writing
# plaintext to a disk.

named_by=BACKUP_AGE_RECIPIENT

# Passes each recipient to age as an option -r. `hubctl config` has refused recipients with characters that the shell
# expands.
run_age() {
  case $recipient in
    /*) age -R "$recipient" "$@" ;;
    *)
      for one in $recipient; do set -- -r "$one" "$@"; done
      age "$@"
      ;;
  esac
}

# Fails with the reason if backups cannot be encrypted.
seal_problem() {
  command -v age >/dev/null || trouble "age is not installed, but $named_by requires it: nothing is sent" ||
    return
  case $recipient in
    /*)
      [ -f "$recipient" ] && [ -r "$recipient" ] ||
        trouble "$named_by: the file $recipient cannot be read" || return
      ! grep -qi 'AGE-SECRET-KEY' -- "$recipient" ||
        trouble "$named_by: $recipient holds a secret key, which must not be on this machine" || return
      ;;
  esac
  said=$(run_age -o /dev/null 2>&1 </dev/null) ||
    trouble "age refuses $named_by: $(printf '%s\n' "$said" | hide_secrets)"
}

# seal_into COMMAND...: pipes the encrypted backup to the command, and sets its $hash and $bytes. Each program of the
# pipe reports its own success, because sh has no pipefail.
seal_into() {
  run_child seal_through "$@" 3>"$scratch/succeeded" || :
  if [ "$(grep -c . "$scratch/succeeded")" -ne 8 ]; then
    # If the program that writes the copy ($1) failed, all earlier programs of the pipe failed too, because $1 no longer
    # read their output.
    grep -qxF -- "$1" "$scratch/succeeded" || trouble "$name: the encrypted copy could not be written" || return
    hide_secrets <"$scratch/age.said" >&2
    trouble "$name could not be encrypted; of tar, gzip, dd, age, dd, tee, $1 and sha256sum only these" \
      "succeeded: $(tr '\n' ' ' <"$scratch/succeeded")"
    return
  fi
  hash=$(cut -c 1-64 "$scratch/hash") bytes=$(counted "$scratch/sealed")
  # Encryption adds bytes to the plaintext.
  [ "$bytes" -gt "$(counted "$scratch/plain")" ] ||
    trouble "$name: what age wrote is smaller than its plaintext: encryption was incomplete"
}

# seal_through COMMAND...: packs and encrypts the backup, and pipes the encrypted backup to COMMAND. Each program that
# succeeds writes its name to file descriptor 3.
seal_through() {
  {
    { tar -C "${dir%/*}" --owner=0 --group=0 --no-recursion -cf - -- \
      "$name" "$name/SHA256SUMS" "$name/hub.db" "$name/uploads.tar.gz" && echo tar >&3; } |
      { gzip -1 && echo gzip >&3; } |
      { dd bs=1M iflag=fullblock 2>"$scratch/plain" && echo dd >&3; } |
      { run_age 2>"$scratch/age.said" && echo age >&3; } |
      { dd bs=1M iflag=fullblock 2>"$scratch/sealed" && echo dd >&3; } |
      { tee /dev/fd/4 && echo tee >&3; } |
      { "$@" >/dev/null && echo "$1" >&3; }
  } 4>&1 | { sha256sum >"$scratch/hash" && echo sha256sum >&3; }
}

# Prints the number of bytes in dd's report.
counted() {
  sed -n 's/^\([0-9]*\) bytes.*/\1/p' "$1"
}
