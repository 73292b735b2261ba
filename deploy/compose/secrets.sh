#!/bin/sh
# Makes the secrets of compose.yaml, once: a password of the database, and a user "operator", whose password it prints.
# It runs the image that `docker compose build` has made, or the program that FENCEPOST names.
#   deploy/compose/secrets.sh [DIRECTORY]    by default deploy/compose/secrets
set -eu

directory=${1:-$(cd "$(dirname "$0")" && pwd)/secrets}
if [ -e "$directory" ]; then
  echo "$directory is already there" >&2
  exit 1
fi

random() { LC_ALL=C tr -dc A-Za-z0-9 </dev/urandom | head -c 32; }

in_image() {
  docker run --rm --interactive --network none --user "$(id -u):$(id -g)" --volume "$directory:$directory" \
    "fencepost:${FENCEPOST_VERSION:-dev}" "$@"
}

# Nobody but the owner gets into the directory. The files themselves are mounted, and read by a user of the container.
mkdir -m 700 "$directory"
trap 'rm -r "$directory"' EXIT
random >"$directory/database_password"
echo "database:5432:fencepost:fencepost:$(cat "$directory/database_password")" >"$directory/pgpass"
password=$(random)
echo "$password" | ${FENCEPOST:-in_image} users add operator --users-file "$directory/users" --password-stdin >&2
chmod 644 "$directory"/*
trap - EXIT
echo "The password of operator is $password"
