# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by upgrade.sh. Turns an archive that release.sh has made into a commit of this project, so that upgrade.sh can
# upgrade the hub to this commit.

AUTHOR='-c user.name=upgrade.sh -c user.email=upgrade@localhost -c core.excludesFile=/dev/null -c core.autocrlf=false
  -c commit.gpgSign=false'

# Sets $new to a commit on top of $old that holds exactly the files of $archive, or to $old if the files are the same.
commit_archive() {
  take_archive
  # shellcheck disable=SC2086 # options
  tree=$(in_archive add --all --force . && in_archive write-tree) || give_up "$archive could not be read"
  [ "$tree" != "$(as_coder git rev-parse "$old^{tree}")" ] || { new=$old && return; }
  require_newer
  # shellcheck disable=SC2086 # options
  new=$(as_coder git $AUTHOR commit-tree "$tree" -p "$old" -m "Content Hub $version, from an archive") ||
    give_up 'git could not make a commit'
  ref=archive
}

# Gives up unless the version of the archive is newer than the running version.
require_newer() {
  version=$(version_in "$from/files") running=$(version_in "$root")
  newest=$(printf '%s\n' "$running" "$version" | sort -V | tail -n 1)
  { [ "$version" = "$newest" ] && [ "$version" != "$running" ]; } ||
    give_up "$archive has the version ${version:-?}, which is not newer than the running version $running"
}

version_in() {
  sed -n 's/^  "version": "\(.*\)",$/\1/p' "$1/package.json"
}

# Copies the archive before checking it, so that nobody can change the archive between check and use. Unpacks the copied
# archive to $from/files.
take_archive() {
  # A name with a line end would be two names for grep.
  name=$(basename -- "$archive")
  case $name in *[!A-Za-z0-9._+-]*) give_up "$archive is not named as release.sh names an archive" ;; esac
  { as_coder rm -rf -- "$from" && as_coder mkdir -p -- "$from/files"; } || give_up "$from cannot be made"
  take_file "$archive" archive.tar.gz && take_file "$(dirname -- "$archive")/SHA256SUMS" SHA256SUMS || exit
  [ -z "$verify" ] || { take_file "$(dirname -- "$archive")/SHA256SUMS.asc" SHA256SUMS.asc && check_sums_signature || exit; }
  hash=$(as_coder sha256sum <"$from/archive.tar.gz") || give_up "$archive cannot be read"
  grep -qxF -- "${hash%% *}  $name" "$from/SHA256SUMS" ||
    give_up "the hash of $archive is not the hash in the SHA256SUMS beside it"
  as_coder tar -xzf "$from/archive.tar.gz" -C "$from/files" --strip-components=1 --no-same-owner ||
    give_up "$archive could not be unpacked"
  for file in package.json scripts/upgrade.sh; do
    { [ -f "$from/files/$file" ] && [ ! -h "$from/files/$file" ]; } || give_up "$archive is no archive of this project"
  done
}

# take_file FILE NAME: copies a file that perhaps only this account may read.
take_file() {
  # shellcheck disable=SC2016 # expanded by that shell
  { [ -f "$1" ] && as_coder sh -c 'cat >"$1"' sh "$from/$2" <"$1"; } || give_up "$1 is missing or cannot be read"
}

check_sums_signature() {
  said=$(as_coder gpg --batch --status-fd 1 --verify "$from/SHA256SUMS.asc" "$from/SHA256SUMS") ||
    give_up 'the signature of SHA256SUMS is missing or not valid, see above'
  # gpg exits with 0 even if the signing key has expired or was revoked.
  printf '%s\n' "$said" | grep -q '^\[GNUPG:\] GOODSIG ' ||
    give_up 'the key that signed SHA256SUMS has expired or was revoked, see above'
  require_signer 'SHA256SUMS' "$said"
}

# Runs git on the unpacked files, with an index of its own.
in_archive() {
  # shellcheck disable=SC2086 # options
  as_coder env GIT_INDEX_FILE="$from/index" git $AUTHOR --git-dir="$root/.git" --work-tree="$from/files" -C "$from/files" "$@"
}

# A project that was unpacked from an archive has no git history. Makes a git repository, and commits those files of the
# project that the new archive also contains, as files or as folders. Files that the new archive lacks may be the
# operator's, and stay as they are. The repository is made elsewhere and moved into place whole, so that a kill leaves no
# incomplete repository.
begin_history() {
  say "making a git repository in $root, in which upgrades keep the old version"
  take_archive
  require_newer
  as_coder git init --quiet "$from/history" || give_up 'git could not make a repository'
  (cd -- "$from/files" && find . -mindepth 1) | while IFS= read -r path; do
    if [ -d "$from/files/$path" ] && [ ! -f "$root/$path" ]; then continue; fi
    [ ! -e "$root/$path" ] || printf '%s\n' "$path"
  done | in_history add --pathspec-from-file=- || give_up "git could not read files in $root"
  { in_history commit --quiet -m 'Content Hub as it was installed' && as_coder mv -T -- "$from/history/.git" "$root/.git"; } ||
    give_up 'git could not make a repository'
}

in_history() {
  # shellcheck disable=SC2086 # options
  as_coder git $AUTHOR --literal-pathspecs --git-dir="$from/history/.git" --work-tree="$root" "$@"
}
