package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"

	"fencepost/internal/postgres/statements"
)

// Open makes a pool of at most size connections. It does not connect yet. A pool_max_conns in the URL is not used.
func Open(ctx context.Context, url string, size int) (*pgxpool.Pool, error) {
	config, err := parse(url, size)
	if err != nil {
		return nil, err
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// OpenLoads is [Open] for loads of the operator's own: what one leaves in its session is gone before the next one comes.
func OpenLoads(ctx context.Context, url string, size int) (*pgxpool.Pool, error) {
	config, err := parse(url, size)
	if err != nil {
		return nil, err
	}
	config.AfterRelease = func(conn *pgx.Conn) bool { return forget(conn) == nil }
	return pgxpool.NewWithConfig(ctx, config)
}

func parse(url string, size int) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	config.MaxConns = int32(size) //nolint:gosec // bounded by its flag
	nameConnection(config.ConnConfig)
	config.ConnConfig.Tracer = statementTracer{}
	config.AfterConnect = Begin
	return config, nil
}

var (
	session       = statements.Named("session")
	sessionPath   = statements.Named("session path")
	forgetSession = statements.Named("forget session")
)

// Begin makes a new connection one that the product's statements can rely on. It lets it send and receive a UUID as its sixteen bytes; by
// itself, pgx reads one by way of its text.
func Begin(ctx context.Context, conn *pgx.Conn) error {
	pgxuuid.Register(conn.TypeMap())
	return conn.PgConn().Exec(ctx, sessionOf(conn)).Close()
}

// sessionOf is what a session is told at its beginning. A URL that names a search_path means it.
func sessionOf(conn *pgx.Conn) string {
	if _, named := conn.Config().RuntimeParams["search_path"]; named {
		return session.SQL
	}
	return session.SQL + ";" + sessionPath.SQL
}

// forgetTimeout bounds the way back of a connection to its pool.
const forgetTimeout = 5 * time.Second

// forget takes a session back to its beginning. It costs a round trip that nobody waits for.
func forget(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), forgetTimeout)
	defer cancel()
	return conn.PgConn().Exec(ctx, forgetSession.SQL+";"+sessionOf(conn)).Close()
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
