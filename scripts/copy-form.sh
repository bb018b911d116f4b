# shellcheck shell=sh disable=SC2034
# Sourced. What copies of a backup are made of, and how they are spoken of.

THREE_FILES='SHA256SUMS
hub.db
uploads.tar.gz'
SEALED=backup.tar.gz.age

# age repeats its input in error messages, and that may be a secret key (AGE-SECRET-KEY or AGE-PLUGIN); addresses may
# contain passwords and signatures.
hide_secrets() {
  sed -e 's/[Aa][Gg][Ee]-[SsPp][EeLl][CcUu][A-Za-z0-9-]*/(hidden)/g' -e 's|://[^/@[:space:]]*@|://(hidden)@|g' \
    -e 's|\(://[^?[:space:]]*\)?[^"[:space:]]*|\1?(hidden)|g'
}

# quoted TEXT: as one word of the shell.
quoted() {
  case $1 in
    *[!A-Za-z0-9/._:@+-]* | '') printf "'%s'\n" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s\n' "$1" ;;
  esac
}
