#!/usr/bin/env bash
# Builds the container image and runs a job through it as it is meant to run: by a user without rights, on a read-only file
# system, without capabilities and, here, without a network. It uses the Docker engine that answers, or as root starts one
# of its own. Where the Go image can't be pulled, one made from the Go of this machine stands in for it.
#   scripts/image-test.sh
set -euo pipefail
cd "$(dirname "$0")/.."

readonly version=v0.0.0-test image=fencepost:v0.0.0-test
work=$(mktemp -d)
chmod 711 "$work"
bin=${FENCEPOST_TEST_POSTGRES_BIN:-$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | tail -n 1)")}
engine='' database='' containers=()

fail() {
  echo "image-test.sh: $*" >&2
  exit 1
}

clean_up() {
  [ "${#containers[@]}" = 0 ] || docker rm --force "${containers[@]}" >/dev/null
  [ -z "$database" ] || as_postgres "$bin/pg_ctl" stop --silent --mode=immediate --pgdata="$database"
  if [ -n "$engine" ]; then
    kill "$engine"
    wait "$engine" || true
    umount "$work"/run/netns/* 2>/dev/null || true # left there after a failure
  fi
  rm -rf "$work"
}
trap clean_up EXIT

# until_true SECONDS COMMAND... repeats a command until it succeeds.
until_true() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.5
  done
}

start_engine() {
  docker info >/dev/null 2>&1 && return
  export DOCKER_HOST=unix://$work/docker.sock
  dockerd --host="$DOCKER_HOST" --data-root="$work/engine" --exec-root="$work/run" --pidfile="$work/docker.pid" \
    --bridge=none --iptables=false >"$work/engine.log" 2>&1 &
  engine=$!
  until_true 60 docker info || fail "dockerd does not start: $(tail -n 5 "$work/engine.log")"
}

# A shell, what scripts/build.sh calls, certificates, and Go.
import_go() {
  local root=$work/go-image programs=(/bin/sh /usr/bin/dirname) file
  for file in "${programs[@]}" $(ldd "${programs[@]}" | grep -o '/[^ ]*\.so[^ ]*') /etc/ssl/certs/ca-certificates.crt; do
    install -D "$file" "$root$file"
  done
  mkdir -m 1777 "$root/tmp"
  cp -r "$(go env GOROOT)" "$root/go"
  tar --create --directory="$root" . | docker import --change 'ENV PATH=/go/bin:/usr/bin:/bin HOME=/tmp' - "$1" >/dev/null
  rm -r "$root"
}

build_image() {
  local go=golang:1.26.8
  if ! docker pull --quiet "$go" >/dev/null 2>&1; then
    go=fencepost-test-go
    import_go "$go"
  fi
  docker build --quiet --network=host --build-arg GO_IMAGE="$go" --build-arg VERSION="$version" --tag "$image" .
}

as_postgres() {
  if [ "$(id -u)" != 0 ]; then
    "$@"
  else
    setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
  fi
}

# The containers reach the database by its socket.
start_database() {
  mkdir "$work/socket" "$work/database"
  [ "$(id -u)" != 0 ] || chown nobody:nogroup "$work/socket" "$work/database"
  as_postgres "$bin/initdb" --pgdata="$work/database" --username=fencepost --auth=trust --no-sync >/dev/null
  as_postgres "$bin/pg_ctl" start --silent --wait --pgdata="$work/database" --log="$work/database/log" \
    --options="-c listen_addresses= -c unix_socket_directories=$work/socket"
  database=$work/database
}

# fencepost_run OPTION... IMAGE ARGUMENT... runs the program confined.
fencepost_run() {
  docker run --read-only --cap-drop=ALL --security-opt=no-new-privileges --network=none \
    --volume="$work/socket:/socket" --volume="$work/secrets/users:/run/secrets/users:ro" \
    --env="FENCEPOST_DATABASE_URL=postgres:///postgres?host=/socket&user=fencepost" "$@"
}

healthy() { [ "$(docker inspect --format '{{.State.Health.Status}}' server)" = healthy ]; }

# start NAME ARGUMENT... starts a container.
start() {
  local name=$1
  shift
  containers+=("$name")
  fencepost_run --detach --name "$name" "$image" "$@" >/dev/null
}

start_engine
build_image
[ "$(docker inspect --format '{{.Config.User}}' "$image")" = 65532:65532 ] || fail "the image runs as another user"
start_database
password=$(FENCEPOST_VERSION=$version deploy/compose/secrets.sh "$work/secrets" | grep -o '[^ ]*$')

fencepost_run --rm "$image" version | grep -F "fencepost $version " || fail "the image does not know its version"
fencepost_run --rm "$image" migrate up
start server serve --workers=0 --users-file=/run/secrets/users
start worker work
until_true 60 healthy || fail "the server is not healthy: $(docker logs server 2>&1 | tail -n 5)"
until_true 60 docker exec worker /fencepost health http://127.0.0.1:9091/livez || fail "the worker is not healthy"

job=$(echo '[{"id":"tea"}]' | docker exec --interactive --env=FENCEPOST_USER=operator --env=FENCEPOST_PASSWORD="$password" \
  server /fencepost job submit --output json - | jq -r .jobRecordId)
docker exec --env=FENCEPOST_USER=operator --env=FENCEPOST_PASSWORD="$password" server /fencepost job watch "$job"
for container in server worker; do
  docker stop --time=40 "$container" >/dev/null
  [ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ] || fail "$container did not stop in order"
done
echo "The image works."
