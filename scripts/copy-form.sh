# shellcheck shell=sh disable=SC2034
# Sourced. What copies of a backup are made of, and what must not be said of them.

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
