# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by upgrade.sh. Finds the new version, sets it up in $place/new and tries it, while the hub runs on undisturbed.

# Sets $place, and $coder to the command prefix that runs a program as the account that owns the project: what git and
# npm write must not belong to another.
read_project() {
  place=$root/.runtime/upgrade beside=$place/new coder='' home=${HOME-}
  ids=$(stat -c '%u %g' -- "$root")
  mask=077 # as the project's own files have it: the hub's account may be another one than theirs
  case $(stat -c %A -- "$root/package.json") in ???????r*) mask=022 ;; ????r*) mask=027 ;; esac
  [ "$(id -u)" -ne "${ids% *}" ] || return 0
  [ "$(id -u)" -eq 0 ] ||
    give_up "$root belongs to $(stat -c %U -- "$root"), and not to $(id -un): run this as that account or as root"
  groups=--init-groups
  getent passwd "${ids% *}" >/dev/null || groups=--clear-groups
  coder="setpriv --reuid=${ids% *} --regid=${ids#* } $groups --"
  home=$(getent passwd "${ids% *}" | cut -d : -f 6)
}

# Runs a program in the project, as its owner. It holds the lock for as long as it runs, so that --recover, after a
# kill, waits for its end.
as_coder() (
  umask "$mask"
  cd "$root" || exit
  HOME=${home:-/} GIT_TERMINAL_PROMPT=0
  export HOME GIT_TERMINAL_PROMPT
  # shellcheck disable=SC2086 # words
  exec $apart $coder "$@" 9>&-
)

# Version and commit, for people.
name_of() {
  version=$(as_coder git show "$1:package.json" | sed -n 's/^  "version": "\(.*\)",$/\1/p')
  echo "${version:-?} ($(as_coder git rev-parse --short "$1"))"
}

# Sets $old, $new and $branch: from which commit to which, and the branch that the clone is on, if any.
find_commits() {
  top=$(as_coder git rev-parse --show-toplevel) || give_up 'this is not a clone of the project'
  [ "$top" = "$root" ] || give_up "this is not a clone of the project, but a part of $top"
  changes=$(as_coder git status --porcelain --untracked-files=no) || give_up 'git does not work here, see above'
  [ -z "$changes" ] || give_up "these files of the project were changed:
$changes
commit the changes or take them back"
  old=$(as_coder git rev-parse --verify HEAD) || give_up 'the clone has no commit'
  branch=$(as_coder git symbolic-ref --quiet --short HEAD) || branch=
  remote=$(as_coder git config "branch.$branch.remote") || remote=origin
  if as_coder git config "remote.$remote.url" >/dev/null; then
    as_coder git -c gc.auto=0 -c maintenance.auto=0 fetch --quiet --tags "$remote" </dev/null || give_up "git could not fetch from $remote"
  fi
  new=$(commit_of) || give_up "there is no commit ${ref:-that this clone follows}"
  [ "$new" != "$old" ] || return 0
  ! as_coder git merge-base --is-ancestor "$new" "$old" ||
    give_up "$(name_of "$new") is older than what runs; to go back, stop the hub, check it out and restore a backup of that time"
  [ -n "$ref" ] || as_coder git merge-base --is-ancestor "$old" "$new" ||
    give_up "this clone has commits that $remote lacks: name the version with --to"
  as_coder git read-tree --dry-run -m -u "$old" "$new" || give_up 'the new version has files that are in the way here'
}

# A name is first that of a tag, then of a branch as it is elsewhere.
commit_of() {
  if [ -z "$ref" ]; then
    if [ -n "$branch" ]; then set -- "$branch@{upstream}"; else set -- "refs/remotes/$remote/HEAD"; fi
  else
    set -- "refs/tags/$ref" "refs/remotes/$remote/$ref" "$ref"
  fi
  for name in "$@"; do
    as_coder git rev-parse --quiet --verify --end-of-options "$name^{commit}" 2>/dev/null && return
  done
  return 1
}

# Beside the backup, which looks for itself: a kept database and its trial, and the packages a second time. In KiB.
check_space() {
  database=$(as_owner du -ck -- "$data"/hub.db* | tail -n 1 | cut -f 1)
  packages=$(as_coder du -sk -- node_modules | cut -f 1)
  require_space "$data" "$((2 * database + 65536))"
  require_space "$root" "$((packages + 262144))"
  [ "$(stat -c %d -- "$data")" != "$(stat -c %d -- "$root")" ] ||
    require_space "$data" "$((2 * database + packages + 327680))"
}

require_space() {
  free=$(df -Pk -- "$1" | awk 'NR == 2 { print $4 }')
  [ "$free" -ge "$2" ] || give_up "$1 has $((free / 1024)) MiB left, and $(($2 / 1024)) MiB are needed"
}

# Puts the new version into $beside. Packages and Nodes that are here already are not fetched again.
set_up_beside() {
  say "setting up $(name_of "$new") in $beside"
  drop_new
  as_coder mkdir -p -- "$beside/.runtime" || give_up "$beside cannot be made"
  { as_coder git archive --output="$place/new.tar" "$new" && as_coder tar -xf "$place/new.tar" -C "$beside"; } ||
    give_up "$new could not be unpacked"
  as_coder rm -f -- "$place/new.tar"
  for version in "$root"/.runtime/node-*; do
    [ ! -d "$version" ] || as_coder ln -s -- "$version" "$beside/.runtime/"
  done
  ! as_coder cmp -s "$beside/package-lock.json" node_modules/.installed-lock.json ||
    as_coder cp -al -- node_modules "$beside/" || give_up 'the packages could not be laid ready'
  as_coder sh "$beside/scripts/set-up.sh" </dev/null || give_up 'the new version could not be set up'
  [ -e "$root/.env" ] || return 0
  cp -p -- "$root/.env" "$beside/.env" || give_up '.env could not be read'
  # Files that settings name are sought from the project.
  here=$(printf '%s' "$root" | sed 's/[\\&|]/\\&/g')
  sed -i "s|^\([A-Z_]*_FILE=[\"']\{0,1\}\)\([^/\"']\)|\1$here/\2|" "$beside/.env"
}

# Tries the new version on the database of the backup: its settings, its migrations, and whether web answers.
try_beside() {
  say 'trying it on the database of the backup'
  trial_data=$data/tmp/upgrade
  { as_owner mkdir -p -m 0700 -- "$trial_data" && as_owner cp -- "$backup/hub.db" "$trial_data/hub.db"; } ||
    give_up "$trial_data could not be written"
  # shellcheck disable=SC2086 # $unsafe is a word or none
  as_owner sh "$root/scripts/try-version.sh" "$beside" "$trial_data" $unsafe 8>&- ||
    give_up "$(name_of "$new") does not work with this hub's settings and data, see above"
  as_owner rm -rf -- "$trial_data"
}

# What was laid ready, now or by a run that was killed.
drop_new() {
  as_coder rm -rf -- "$place/new.tar" "$beside"
  as_owner rm -rf -- "$data/tmp/upgrade"
}

# The same for the way back, which a copy of this script has to be there for.
make_room() {
  as_coder rm -rf -- "$beside/node_modules" "$beside/.runtime" "$beside/src"
}
