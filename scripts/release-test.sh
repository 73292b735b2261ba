#!/usr/bin/env bash
# Makes a release of the latest commit twice, in two folders and with nothing shared between the compilers, and demands the
# same checksums, the right version in the program, and a refusal where there is no tag or a change.
#   scripts/release-test.sh [OS/ARCHITECTURE...]    by default the platform it runs on
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
platforms=("$@")
[ $# -gt 0 ] || platforms=("$(go env GOOS)/$(go env GOARCH)")

fail() {
  echo "release-test.sh: $*" >&2
  exit 1
}

for copy in first second/copy; do
  git clone --quiet --no-hardlinks . "$work/$copy"
done
"$work/first/scripts/release.sh" "${platforms[@]}" 2>/dev/null && fail "released without a tag"
for copy in first second/copy; do
  git -C "$work/$copy" tag v0.0.0-test
done

"$work/first/scripts/release.sh" "${platforms[@]}"
GOCACHE=$work/cache "$work/second/copy/scripts/release.sh" "${platforms[@]}" >/dev/null
cmp "$work/first/dist/SHA256SUMS" "$work/second/copy/dist/SHA256SUMS" || fail "the second release differs"
(cd "$work/first/dist" && sha256sum --check --quiet SHA256SUMS)

name=fencepost_v0.0.0-test_${platforms[0]/\//_}
tar -xzf "$work/first/dist/$name.tar.gz" -C "$work"
case $("$work/$name/fencepost" version) in
  "fencepost v0.0.0-test ("*) ;;
  *) fail "the program does not know its version" ;;
esac

echo >>"$work/first/README.md"
"$work/first/scripts/release.sh" "${platforms[@]}" 2>/dev/null && fail "released a change that has no tag"
echo "Both releases are the same."
