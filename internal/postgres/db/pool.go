package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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

var session, forgetSession = statements.Named("session"), statements.Named("forget session")

// Begin makes a new connection one that the product's statements can rely on. It lets it send and receive a UUID as its sixteen bytes; by
// itself, pgx reads one by way of its text.
func Begin(ctx context.Context, conn *pgx.Conn) error {
	pgxuuid.Register(conn.TypeMap())
	return tell(ctx, conn)
}

// tell gives a session the settings that the statements depend on, but for those that the URL names.
func tell(ctx context.Context, conn *pgx.Conn) error {
	kept := slices.Collect(maps.Keys(conn.Config().RuntimeParams))
	// Nothing is prepared by name, for poolers that share sessions, and nothing is traced, since no request asked for it.
	names := []byte(strings.ToLower(strings.Join(kept, ",")))
	return conn.PgConn().ExecParams(ctx, session.SQL, [][]byte{names}, nil, nil, nil).Read().Err
}

// forgetTimeout bounds the way back of a connection to its pool.
const forgetTimeout = 5 * time.Second

// forget takes a session back to its beginning. Nobody waits for its round trips.
func forget(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), forgetTimeout)
	defer cancel()
	if err := conn.PgConn().Exec(ctx, forgetSession.SQL).Close(); err != nil {
		return err
	}
	return tell(ctx, conn)
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
