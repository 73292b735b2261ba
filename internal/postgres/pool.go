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

// prepare lets a connection send and receive a UUID as its sixteen bytes; by itself, pgx reads one by way of its text. It also keeps
// PostgreSQL from compiling statements. That takes half a second, and the planner finds it worthwhile for lists of unresolved jobs,
// which are read in some milliseconds.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	pgxuuid.Register(conn.TypeMap())
	return conn.PgConn().Exec(ctx, "SET jit = off").Close()
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
