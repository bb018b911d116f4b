#!/bin/sh
# Usage: hubctl recovery-kit [--recipient RECIPIENT]
# Prints what you need if the hub's machine is gone: where the backups are, and the programs and commands that restore
# them. The recovery kit includes the files that a restore needs, encrypted for an age recipient: .env, the keys and
# passwords that the settings name, and the configuration of rclone. RECIPIENT is an age recipient (age1...) or a file
# with age recipients, by default BACKUP_AGE_RECIPIENT. Without a recipient, the recovery kit only names the files that
# a restore needs. Print the recovery kit again after each change of a file, and keep the kit away from this machine:
# hubctl recovery-kit >kit.txt

# shellcheck disable=SC2154 # read_settings assigns variables
set -eu
umask 077
export LC_ALL=C
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin"
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
trouble() {
  echo "recovery-kit: $*" >&2
  return 1
}

. "$root/scripts/as-owner.sh"
. "$root/scripts/find-node.sh"
. "$root/scripts/off-site-seal.sh"

main() {
  given=
  case $#-${1-} in 0-) ;; 1---help) usage && exit 0 ;; 2---recipient) given=$2 ;; *) wrong_usage ;; esac
  case $given in *[!A-Za-z0-9/._\ -]* | -*) wrong_usage ;; esac
  read_facts || exit
  scratch=$(mktemp -d)
  trap 'rm -rf -- "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM
  list_files || exit
  if [ -n "$recipient" ]; then
    seal_problem || exit
    seal_files || exit
  fi
  print_kit >"$scratch/kit"
  cat -- "$scratch/kit"
  note_printed || trouble 'the time of printing could not be recorded in DATA_DIR/run' || exit
}

read_facts() {
  read_settings data=DATA_DIR backups=BACKUP_DIR address=BASE_URL folder=BACKUP_OFFSITE_DIR \
    remote=BACKUP_RCLONE_REMOTE recipient=BACKUP_AGE_RECIPIENT repository=BACKUP_RESTIC_REPOSITORY || return
  for_copies=$recipient
  recipient=${given:-$recipient}
  [ -z "$given" ] || named_by=--recipient
  described=$(hubctl recovery-kit describe) || return
  require_hub "$data" && find_owner "$data" && require_owner "$data" || return
  home=${HOME:-/nonexistent}
  [ -z "$switch" ] || home=$(getent passwd "$owner" | cut -d : -f 6)
}

# Sets $files, one path a line. Fails if a file cannot be read: a kit without the file would look complete.
list_files() {
  files=$(printf '%s\n' "$described" | sed -n 's/^file\t//p')
  if [ -n "$remote" ] || [ "$repository" != "${repository#rclone:}" ]; then
    # Backups use rclone's configuration of the hub's account.
    # shellcheck disable=SC2086 # several words
    config=$($switch env HOME="$home" rclone config file 2>/dev/null | tail -n 1)
    [ -f "$config" ] || trouble "rclone's configuration was not found: is rclone installed?" || return
    files="$files
$config"
  fi
  files=$(printf '%s\n' "$files" | grep . || :)
  printf '%s\n' "$files" | while IFS= read -r file; do
    [ -z "$file" ] || [ -r "$file" ] || trouble "$file cannot be read by $(id -un): run this as root" || exit
  done
}

# Each program of the pipe reports its own success, because sh has no pipefail.
seal_files() {
  set --
  while IFS= read -r file; do [ -z "$file" ] || set -- "$@" "${file#/}"; done <<FILES
$files
FILES
  [ $# -gt 0 ] || trouble 'there is nothing to seal: no .env, and no setting names a file' || return
  {
    { tar -C / -chf - --owner=0 --group=0 --transform='s|^|recovery-files/|' -- "$@" && echo tar >&3; } |
      { gzip -n && echo gzip >&3; } | { run_age -a >"$scratch/sealed" 2>"$scratch/said" && echo age >&3; }
  } 3>"$scratch/succeeded" || :
  [ "$(grep -c . "$scratch/succeeded")" -eq 3 ] ||
    trouble "the files could not be sealed: $(hide_secrets <"$scratch/said")"
}

print_kit() {
  version=$(sed -n 's/^ *"version": "\(.*\)".*/\1/p' "$root/package.json")
  commit=$(git -C "$root" rev-parse --short HEAD 2>/dev/null) || commit=
  cat <<KIT
RECOVERY KIT of the Content Hub at $address, printed $(date -u '+%Y-%m-%d %H:%M') UTC on $(uname -n)
Keep this kit away from that machine$([ -z "$recipient" ] || echo ', and the age key that opens the kit in a third place').

WHERE THE BACKUPS ARE
$(print_places)

FILES AND KEYS THAT A RESTORE NEEDS
$(print_files)

MADE WITH
  Content Hub $version${commit:+ (commit $commit)}, Node $("$node" --version)$(print_version age --version)$(print_version rclone version)$(print_version restic version)

ON A NEW MACHINE, in the account that is to run the hub
$(print_steps)
KIT
  [ -z "$recipient" ] || { echo && cat -- "$scratch/sealed"; }
}

print_places() {
  echo "  on the machine itself    $backups"
  [ -z "$folder" ] || echo "  on another disk          $folder$(sealed_for)"
  [ -z "$remote" ] || echo "  on a remote of rclone    $remote$(sealed_for)"
  [ -z "$repository" ] || echo "  in a restic repository   $(without_password "$repository")"
  [ -n "$folder$remote$repository" ] || echo '  NOWHERE ELSE: all backups are lost with the machine (handbook, "Off-site copies")'
}

sealed_for() {
  [ -z "$for_copies" ] || echo ", encrypted for $for_copies"
}

print_files() {
  [ -z "$files" ] || printf '%s\n' "$files" |
    sed "s|^|  |; s|\$|   $(if [ -n "$recipient" ]; then echo '(sealed below)'; else echo '(NOT included: keep a copy)'; fi)|"
  without_password "$described" | sed -n 's/^environment\t\(.*\)/  \1   (set in the environment, not in .env: keep a note)/p'
  if [ -n "$recipient" ]; then echo "  the secret key of $recipient   (NOT included: opens the sealed files)"; fi
  if [ -n "$for_copies" ] && [ "$for_copies" != "$recipient" ]; then
    echo "  the secret key of $for_copies   (NOT included: opens the copies)"
  fi
}

# print_version PROGRAM ARGUMENT: prints nothing for a program that is not installed.
print_version() {
  said=$("$@" 2>/dev/null | head -n 1) || return 0
  [ -z "$said" ] || case $said in "$1"*) printf ', %s' "${said%% compiled*}" ;; *) printf ', %s %s' "$1" "$said" ;; esac
}

# Each command is on a line of its own that begins with four spaces.
print_steps() {
  origin=$(git -C "$root" remote get-url origin 2>/dev/null) || origin='<this project>'
  tag=$(git -C "$root" describe --tags --exact-match 2>/dev/null) || tag=$(git -C "$root" rev-parse HEAD 2>/dev/null) ||
    tag="v$version"
  echo '  Install git, npm and the programs named above. Then, with the path of this file and of the age key:'
  case $origin in
    *://* | '<this project>') local=${origin#file://} ;;
    *:*) local=$origin ;;
    *) local='' ;;
  esac
  [ "$local" = "$origin" ] ||
    echo "  WARNING: $(without_password "$origin") is a folder of this machine: take the project from where it is published."
  echo "    git clone $(quoted "$(without_password "$origin")") content-hub && cd content-hub && git checkout -q $(quoted "$tag")"
  echo '    ./scripts/set-up.sh'
  if [ -n "$recipient" ]; then
    echo "    sed -n '/^-----BEGIN AGE/,/^-----END AGE/p' KIT | age -d -i KEY | tar xz"
    printf '%s\n' "$files" | while IFS= read -r file; do
      echo "    $(put_back "$file")"
    done
    echo '    rm -r recovery-files'
  else
    echo '  Put the files that are named above where they were, .env into this folder.'
  fi
  echo '    ./scripts/restore.sh --list'
  echo '  Then one of these commands, with the name of a backup from that list:'
  with_key=
  [ -z "$for_copies" ] || with_key=' --identity KEY'
  [ -z "$folder" ] || echo "    CONFIRM_RESTORE=YES ./scripts/restore.sh $(quoted "$folder")/NAME$with_key"
  case $remote in '' | *: | */) ;; *) remote=$remote/ ;; esac
  [ -z "$remote" ] || echo "    CONFIRM_RESTORE=YES ./scripts/restore.sh $(quoted "$remote")NAME$with_key"
  [ -z "$repository" ] || echo '    CONFIRM_RESTORE=YES ./scripts/restore.sh --restic NAME'
  echo '  At last start the hub: npm start, or as root ./scripts/install-systemd.sh --user ACCOUNT.'
}

# Prints the command that puts a file in its place: .env into the clone, rclone's configuration into the home folder,
# and every other file, as root, to the path that .env names, such as a path in /etc.
put_back() {
  file=$(quoted "recovery-files$1")
  case $1 in
    "$root/.env") echo "install -D -m 0600 $file .env" ;;
    "$root"/*) echo "install -D -m 0600 $file $(quoted "${1#"$root"/}")" ;;
    "$home"/.config/rclone/*) echo "install -D -m 0600 $file \"\$HOME\"/$(quoted "${1#"$home"/}")" ;;
    *) echo "sudo install -D -m 0600 -o \"\$(id -un)\" $file $(quoted "$1")" ;;
  esac
}

# Records when the recovery kit was printed, for the hub's health, as the account that owns the data.
note_printed() {
  # shellcheck disable=SC2016,SC2086 # for the other shell; several words
  $switch sh -c 'umask 077; mkdir -p -- "$1" && printf "{\"at\":%s000}\n" "$2" >"$1/recovery-kit.partial" &&
    sync -- "$1/recovery-kit.partial" && mv -f -- "$1/recovery-kit.partial" "$1/recovery-kit.json"' \
    sh "$data/run" "$(date +%s)"
}

# Runs the Node program hubctl, and not scripts/hubctl, because scripts/hubctl calls recovery-kit.sh.
hubctl() {
  "$node" --disable-sigusr1 "$root/src/bin/launch.ts" hubctl "$@"
}

main "$@"
exit
