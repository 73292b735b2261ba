package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// Open makes a pool of at most size connections. It does not connect yet. A pool_max_conns in the URL is not used.
func Open(ctx context.Context, url string, size int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	config.MaxConns = int32(size) //nolint:gosec // bounded by its flag
	nameConnection(config.ConnConfig)
	config.ConnConfig.Tracer = statementTracer{}
	config.AfterConnect = prepare
	return pgxpool.NewWithConfig(ctx, config)
}

// sessionSQL is what the statements expect of a session. They decide races by reading a row again once it is free, which PostgreSQL does
// in this isolation level only; in others, each conflict would be an error. And nothing is compiled: that takes half a second, and the
// planner finds it worthwhile for lists of unresolved jobs, which are read in some milliseconds.
const sessionSQL = `SET default_transaction_isolation = 'read committed'; SET jit = off`

// prepare lets a connection send and receive a UUID as its sixteen bytes; by itself, pgx reads one by way of its text.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	pgxuuid.Register(conn.TypeMap())
	return conn.PgConn().Exec(ctx, sessionSQL).Close()
}

// ParseListen reads the URL of a [Config.Listen].
func ParseListen(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	nameConnection(config)
	return config, nil
}

// nameConnection tells the database who connects, unless the URL says so.
func nameConnection(config *pgx.ConnConfig) {
	if _, set := config.RuntimeParams["application_name"]; !set {
		config.RuntimeParams["application_name"] = "fencepost"
	}
}
