#!/usr/bin/env bash
# Makes sure that the machine has what the Makefile needs: "postgres" (the server programs, 15 or newer), "compiler" (a C
# compiler, for Go's race detector), "node" (Node.js and npm), "browser" (Chromium, for the tests of the pages),
# "pgbouncer" (for the tests through it), "prometheus" (with promtool, for the tests of the alerts and the dashboard), "session" (what the README's session uses),
# "systemd" (to check the units) and "docker" (for the test of the image). As root on Debian and its relatives it installs
# what is missing; anywhere else it says what to install.
#   scripts/setup.sh postgres compiler
set -euo pipefail

have_postgres() {
  [ -n "${FENCEPOST_DATABASE_URL:-}${FENCEPOST_POSTGRES_BIN:-}" ] && return
  [ -n "${FENCEPOST_TEST_DATABASE_URL:-}${FENCEPOST_TEST_POSTGRES_BIN:-}" ] && return
  command -v postgres >/dev/null && return
  compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null && return
  compgen -G '/usr/pgsql-*/bin/postgres' >/dev/null && return
  compgen -G '/opt/homebrew/opt/postgresql@*/bin/postgres' >/dev/null
}

have_compiler() { command -v "${CC:-gcc}" >/dev/null; }

have_node() { command -v node >/dev/null && command -v npm >/dev/null; }

have_browser() { command -v chromium >/dev/null; }

have_prometheus() { command -v prometheus >/dev/null && command -v promtool >/dev/null; }

have_pgbouncer() { command -v pgbouncer >/dev/null; }

have_systemd() { command -v systemd-analyze >/dev/null; }

have_docker() { command -v docker >/dev/null && { docker info >/dev/null 2>&1 || command -v dockerd >/dev/null; }; }

have_session() { command -v curl >/dev/null && command -v jq >/dev/null; }

# install NAME PACKAGE... installs the packages, or tells how.
install() {
  local name=$1
  shift
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "This needs $name. Install it first, for example: sudo apt-get install $*" >&2
    exit 1
  fi
  echo "Installing $name" >&2
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$@" >/dev/null
}

# Debian's package would start a server of its own on port 5432. Fencepost only needs the programs.
install_postgres() {
  local setting=/etc/postgresql-common/createcluster.d/fencepost.conf
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    mkdir -p "${setting%/*}"
    echo 'create_main_cluster = false' >"$setting"
    trap "rm -f $setting" EXIT
  fi
  install "the PostgreSQL server programs" postgresql
}

# Debian's packages would start servers of their own. Only the programs are needed; "systemctl unmask NAME" makes them
# services again.
install_program() {
  local unit=/etc/systemd/system/$2.service
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && [ ! -e "$unit" ]; then
    mkdir -p "${unit%/*}"
    ln -sf /dev/null "$unit"
  fi
  install "$1" "$2"
}

for need in "$@"; do
  case $need in
    postgres) have_postgres || install_postgres ;;
    compiler) have_compiler || install "a C compiler" gcc libc6-dev ;;
    node) have_node || install "Node.js and npm" nodejs npm ;;
    browser) have_browser || install "Chromium" chromium ;;
    prometheus) have_prometheus || install_program "Prometheus" prometheus ;;
    pgbouncer) have_pgbouncer || install_program "PgBouncer" pgbouncer ;;
    systemd) have_systemd || install "systemd-analyze" systemd ;;
    docker) have_docker || install "a Docker engine" docker.io ;;
    session) have_session || install "curl and jq" curl jq ;;
    *) echo "setup.sh: unknown need $need" >&2; exit 2 ;;
  esac
done
