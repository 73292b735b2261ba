#!/usr/bin/env bash
# Makes dist/: an archive for each platform, the bill of its materials (CycloneDX), and SHA256SUMS. The version is the tag
# of the commit that is checked out. Whoever checks out the same tag and has the same Go gets the same bytes.
#   scripts/release.sh [OS/ARCHITECTURE...]
# Needs GNU tar.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly bill_of_materials=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
platforms=("$@")
[ $# -gt 0 ] || platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64)

if ! version=$(git describe --exact-match --tags --match 'v[0-9]*' 2>/dev/null); then
  echo "release.sh: this commit has no tag such as v1.2.3" >&2
  exit 1
fi
if [ -n "$(git status --porcelain)" ]; then
  echo "release.sh: there are changes that $version does not have" >&2
  exit 1
fi
committed=$(git show --no-patch --format=%ct HEAD)

rm -rf dist
for platform in "${platforms[@]}"; do
  name=fencepost_${version}_${platform/\//_}
  folder=dist/$name
  mkdir -p "$folder"
  cp LICENSE README.md CHANGELOG.md "$folder"
  GOOS=${platform%/*} GOARCH=${platform#*/} scripts/build.sh "$version" "$folder/fencepost"
  go run "$bill_of_materials" bin -json -std -noserial -notimestamp -version "$version" -output "$folder.cdx.json" "$folder/fencepost"
  tar --create --directory=dist --sort=name --format=ustar --mtime="@$committed" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX "$name" | gzip --no-name --best >"$folder.tar.gz"
  rm -r "$folder"
done
(cd dist && sha256sum -- * >SHA256SUMS)
cat dist/SHA256SUMS
