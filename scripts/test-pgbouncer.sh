#!/usr/bin/env bash
# Runs tests through PgBouncer in transaction mode, in front of a PostgreSQL that is there for that alone. What the tests
# pass to "go test" can be given:
#   scripts/test-pgbouncer.sh -race ./rest ./graph
set -euo pipefail
cd "$(dirname "$0")/.."

bin=${FENCEPOST_TEST_POSTGRES_BIN:-$(dirname "$(readlink -f "$(command -v postgres || compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1)")")}
dir=$(mktemp -d)
chmod 755 "$dir"
mkdir "$dir/run"

# PostgreSQL and PgBouncer refuse to run as root.
as=(env)
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  chown postgres: "$dir/run"
fi

stop() {
  [ -z "${bouncer:-}" ] || kill "$bouncer" || true
  "${as[@]}" "$bin/pg_ctl" -D "$dir/run/data" -m immediate -s stop || true
  rm -rf "$dir"
}
trap stop EXIT

"${as[@]}" "$bin/initdb" -D "$dir/run/data" -U fencepost -E UTF8 --locale=C -A trust --no-sync >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$dir/run/data" -l "$dir/run/postgres.log" -w -s start -o "-k $dir/run -c listen_addresses= \
  -c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=300"

cat >"$dir/pgbouncer.ini" <<INI
[databases]
* = host=$dir/run user=fencepost connect_query='SET ROLE fencepost_server'
[pgbouncer]
pool_mode = transaction
auth_type = any
listen_addr =
unix_socket_dir = $dir/run
listen_port = 6432
default_pool_size = 20
max_client_conn = 2000
server_idle_timeout = 5
logfile = $dir/run/pgbouncer.log
INI
"${as[@]}" pgbouncer --quiet "$dir/pgbouncer.ini" &
bouncer=$!

# PgBouncer knows the prepared statements of its clients from 1.21 on. Before that, pgx must not use any.
export FENCEPOST_TEST_DATABASE_URL="postgres://fencepost@/postgres?host=$dir/run"
export FENCEPOST_TEST_POOLER_URL="postgres://fencepost@/postgres?host=$dir/run&port=6432&default_query_exec_mode=cache_describe"
go test "$@"
