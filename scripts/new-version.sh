# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by upgrade.sh. Finds the new version, sets it up in $upgrade_dir/new and tries it while the hub still runs.

# Sets $upgrade_dir, and $coder, the command prefix that runs a program as the account that owns the project: files that
# git and npm write must belong to this account.
read_project() {
  upgrade_dir=$root/.runtime/upgrade beside=$upgrade_dir/new from=$upgrade_dir/from coder='' home=${HOME-}
  ids=$(stat -c '%u %g' -- "$root")
  mask=077 # like the project's own files, which the hub's account may have to read
  case $(stat -c %A -- "$root/package.json") in ???????r*) mask=022 ;; ????r*) mask=027 ;; esac
  [ "$(id -u)" -ne "${ids% *}" ] || return 0
  [ "$(id -u)" -eq 0 ] ||
    give_up "$root belongs to $(stat -c %U -- "$root"), and not to $(id -un): run this as that account or as root"
  coder=$(command_prefix "${ids% *}" "${ids#* }")
  home=$(getent passwd "${ids% *}" | cut -d : -f 6)
}

# Runs a program in the project's folder, as the project's owner. The program inherits the lock of upgrades: if
# upgrade.sh is killed, `upgrade.sh --recover` cannot begin before the program has ended.
as_coder() (
  umask "$mask"
  cd "$root" || exit
  HOME=${home:-/} GIT_TERMINAL_PROMPT=0
  export HOME GIT_TERMINAL_PROMPT
  # shellcheck disable=SC2086 # words
  exec $apart $coder "$@" 9>&-
)

# Prints the version and the short id of a commit, for people.
name_of() {
  version=$(as_coder git show "$1:package.json" | sed -n 's/^  "version": "\(.*\)",$/\1/p')
  echo "${version:-?} ($(as_coder git rev-parse --short "$1"))"
}

# Sets $old and $new, the commits of the running and of the new version, and $branch, the clone's branch, if any.
find_commits() {
  [ -z "$archive" ] || [ -e "$root/.git" ] || begin_history
  top=$(as_coder git rev-parse --show-toplevel) || give_up 'this is not a clone of the project'
  [ "$top" = "$root" ] || give_up "this is not a clone of the project, but a part of $top"
  changes=$(as_coder git status --porcelain --untracked-files=no) || give_up 'git does not work here, see above'
  [ -z "$changes" ] || give_up "these files of the project were changed:
$changes
commit the changes or take them back"
  old=$(as_coder git rev-parse --verify HEAD) || give_up 'the clone has no commit'
  branch=$(as_coder git symbolic-ref --quiet --short HEAD) || branch=
  [ -z "$archive" ] || { commit_archive && require_room_in_tree && return; }
  remote=$(as_coder git config "branch.$branch.remote") || remote=origin
  if as_coder git config "remote.$remote.url" >/dev/null; then
    as_coder git -c gc.auto=0 -c maintenance.auto=0 fetch --quiet --tags "$remote" </dev/null || give_up "git could not fetch from $remote"
  fi
  if [ -n "$verify" ]; then
    new=$(signed_commit) || exit
  else
    new=$(commit_of) || give_up "there is no commit ${ref:-that this clone follows}"
  fi
  [ "$new" != "$old" ] || return 0
  ! as_coder git merge-base --is-ancestor "$new" "$old" ||
    give_up "$(name_of "$new") is older than the running version; to go back, stop the hub, check it out and restore a backup of that time"
  [ -n "$ref" ] || as_coder git merge-base --is-ancestor "$old" "$new" ||
    give_up "this clone has commits that $remote lacks: name the version with --to"
  require_room_in_tree
}

# git itself would overwrite files that .gitignore names, such as .env. A folder that becomes a file is judged by git.
require_room_in_tree() {
  as_coder git read-tree --dry-run -m -u "$old" "$new" || give_up 'files in this folder are in the way of files of the new version'
  as_coder git diff --name-only --no-renames --diff-filter=A "$old" "$new" | while IFS= read -r file; do
    { [ ! -e "$root/$file" ] || [ -d "$root/$file" ]; } && [ ! -h "$root/$file" ] || give_up "the new version would overwrite $root/$file"
  done || exit
}

# Prints the commit of $ref: a tag, else a branch of the remote, else any name of git. Without $ref, prints the newest
# commit of the clone's branch.
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

# Prints the commit of the tag $ref. Gives up unless a key in UPGRADE_SIGNERS has signed the tag under this very name.
signed_commit() {
  [ -n "$ref" ] || give_up 'with UPGRADE_VERIFY=signed, name a signed tag with --to'
  tag=$(as_coder git rev-parse --quiet --verify --end-of-options "refs/tags/$ref") || give_up "there is no tag $ref"
  [ "$(as_coder git cat-file -t "$tag")" = tag ] || give_up "$ref has no signature: it is no annotated tag"
  # A server could offer the signed tag of one version under the name of another.
  [ "$(as_coder git cat-file tag "$tag" | sed -n '/^$/q; s/^tag //p')" = "$ref" ] ||
    give_up "the tag $ref was signed under another name"
  if ! said=$(as_coder git verify-tag --raw "$tag" 2>&1); then
    as_coder git verify-tag "$tag" >&2 || :
    give_up "the signature of the tag $ref is missing or not valid, see above"
  fi
  require_signer "the tag $ref" "$said"
  as_coder git rev-parse "$tag^{commit}"
}

# require_signer WHAT STATUS: gives up unless gpg's status lines name a key in UPGRADE_SIGNERS.
require_signer() {
  # gpg prints a line VALIDSIG for each signature. The last word of a VALIDSIG line is the fingerprint of the primary
  # key.
  signer=$(printf '%s\n' "$2" | sed -n 's/^\[GNUPG:\] VALIDSIG .* //p')
  for named in $signers; do [ "$signer" != "$named" ] || return 0; done
  give_up "$1 was signed by the key ${signer:-of another kind}, which is not in UPGRADE_SIGNERS"
}

# Gives up unless the disks have room for two copies of the database (to return to the old version, and to try the new
# version), for twice as much that its migrations may add, and for new packages. backup.sh checks the room for the backup.
check_space() {
  database=$(as_owner du -ck -- "$data"/hub.db* | tail -n 1 | cut -f 1)
  packages=$(as_coder du -sk -- node_modules | cut -f 1)
  require_space "$data" "$((4 * database + 65536))"
  require_space "$root" "$((packages + 262144))"
  [ "$(stat -c %d -- "$data")" != "$(stat -c %d -- "$root")" ] ||
    require_space "$data" "$((4 * database + packages + 327680))"
}

require_space() {
  free=$(df -Pk -- "$1" | awk 'NR == 2 { print $4 }')
  [ "$free" -ge "$2" ] || give_up "$1 has $((free / 1024)) MiB left, and $(($2 / 1024)) MiB are needed for the upgrade"
}

# Puts the new version into $beside. Packages and Nodes that are already here are not downloaded again.
set_up_beside() {
  say "setting up $(name_of "$new") in $beside"
  drop_new
  as_coder mkdir -p -- "$beside/.runtime" || give_up "$beside cannot be made"
  { as_coder git archive --output="$upgrade_dir/new.tar" "$new" && as_coder tar -xf "$upgrade_dir/new.tar" -C "$beside"; } ||
    give_up "$new could not be unpacked"
  as_coder rm -f -- "$upgrade_dir/new.tar"
  for version in "$root"/.runtime/node-*; do
    [ ! -d "$version" ] || as_coder ln -s -- "$version" "$beside/.runtime/"
  done
  ! as_coder cmp -s "$beside/package-lock.json" node_modules/.installed-lock.json ||
    as_coder cp -al -- node_modules "$beside/" || give_up 'the packages could not be linked'
  as_coder sh "$beside/scripts/set-up.sh" </dev/null || give_up 'the new version could not be set up'
  [ -e "$root/.env" ] || return 0
  cp -p -- "$root/.env" "$beside/.env" || give_up '.env could not be read'
  # Relative paths in .env are relative to the project.
  here=$(printf '%s' "$root" | sed 's/[\\&|]/\\&/g')
  sed -i "s|^\([A-Z_]*_FILE=[\"']\{0,1\}\)\([^/\"']\)|\1$here/\2|" "$beside/.env"
}

# Tries the new version on the backup's database.
try_beside() {
  say 'trying the new version on the database of the backup'
  trial_data=$data/tmp/upgrade
  { as_owner mkdir -p -m 0700 -- "$trial_data" && as_owner cp -- "$backup/hub.db" "$trial_data/hub.db"; } ||
    give_up "$trial_data could not be written"
  # shellcheck disable=SC2086 # $unsafe is a word or none
  as_owner sh "$root/scripts/try-version.sh" "$beside" "$trial_data" $unsafe 8>&- ||
    give_up "$(name_of "$new") does not work with this hub's settings and data, see above"
  as_owner rm -rf -- "$trial_data"
}

# Removes the new version that this run or a killed run has set up.
drop_new() {
  as_coder rm -rf -- "$upgrade_dir/new.tar" "$from" "$beside"
  as_owner rm -rf -- "$data/tmp/upgrade"
}
