package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	config.AfterConnect = Begin
	return pgxpool.NewWithConfig(ctx, config)
}

var session = statements.Named("session")

// Begin makes a new connection one that the product's statements can rely on. It lets it send and receive a UUID as its sixteen bytes; by
// itself, pgx reads one by way of its text.
func Begin(ctx context.Context, conn *pgx.Conn) error {
	pgxuuid.Register(conn.TypeMap())
	kept := slices.Collect(maps.Keys(conn.Config().RuntimeParams))
	// Nothing is prepared by name, for poolers that share sessions, and nothing is traced, since no request asked for it.
	names := []byte(strings.ToLower(strings.Join(kept, ",")))
	return conn.PgConn().ExecParams(ctx, session.SQL, [][]byte{names}, nil, nil, nil).Read().Err
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
