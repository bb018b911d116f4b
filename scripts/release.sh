#!/bin/sh
# Usage: release.sh TAG FOLDER [--ssh-key FILE | --gpg-key KEY]
# Makes an archive of the source of the version TAG (such as v2.0.0) in FOLDER, and SHA256SUMS with the archive's hash.
# Everybody who has the git tag TAG makes the same archive, byte for byte. With a key the hashes are signed:
# SHA256SUMS.sig by ssh-keygen (namespace content-hub), or SHA256SUMS.asc by gpg. upgrade.sh --from takes the archive.

set -eu
umask 022
# shellcheck source=scripts/common.sh
. "$(dirname -- "$(readlink -f -- "$0")")/common.sh"
die() {
  echo "release: $*" >&2
  exit 1
}

[ "${1-}" != --help ] || { usage && exit 0; }
case $#-${3-} in 2- | 4---ssh-key | 4---gpg-key) ;; *) wrong_usage ;; esac
case $1 in -* | '') wrong_usage ;; esac
tag=$1 folder=$2 how=${3-} key=${4-}

# Runs git without the settings of this machine and account, which could change the archive: modes, ends of lines,
# attributes, replaced objects.
own_git() {
  env -i PATH="$PATH" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_NO_REPLACE_OBJECTS=1 TZ=UTC \
    git -C "$root" -c "safe.directory=$root" -c tar.umask=0022 -c core.autocrlf=false -c core.eol=lf \
    -c core.attributesFile=/dev/null "$@"
}

commit=$(own_git rev-parse --quiet --verify --end-of-options "refs/tags/$tag^{commit}") || die "there is no tag $tag"
version=$(own_git show "$commit:package.json" | sed -n 's/^  "version": "\(.*\)",$/\1/p')
[ "$tag" = "v$version" ] || die "the tag $tag has the version ${version:-?}: its name should be v$version"
[ -d "$folder" ] || die "there is no folder $folder"
name=content-hub-$version
attributes=$(own_git rev-parse --path-format=absolute --git-path info/attributes)
[ ! -s "$attributes" ] || die "$attributes would change the archive: remove that file"

scratch=$(mktemp -d "$folder/.release-XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
# sh has no pipefail, so the archive is made in two steps. gzip -n leaves out the name and the time.
own_git archive --format=tar --prefix="$name/" --output="$scratch/$name.tar" "$commit"
env -i PATH="$PATH" gzip -n -9 -- "$scratch/$name.tar"
(cd -- "$scratch" && sha256sum -- "$name.tar.gz" >SHA256SUMS)
case $how in
  --ssh-key) ssh-keygen -q -Y sign -f "$key" -n content-hub "$scratch/SHA256SUMS" || die 'the hashes could not be signed' ;;
  --gpg-key) gpg --batch --armor --local-user "$key" --detach-sign "$scratch/SHA256SUMS" || die 'the hashes could not be signed' ;;
esac
for file in "$scratch"/*; do mv -f -- "$file" "$folder/"; done
cat -- "$folder/SHA256SUMS"
