package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"

	"fencepost/internal/postgres/statements"
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

var session = statements.Named("session")

// prepare lets a connection send and receive a UUID as its sixteen bytes; by itself, pgx reads one by way of its text.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	pgxuuid.Register(conn.TypeMap())
	return conn.PgConn().Exec(ctx, session.SQL).Close()
}

// ParseListen reads the URL of a listener for notices, which needs a session of its own and so can't go through a pooler that shares
// them.
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
