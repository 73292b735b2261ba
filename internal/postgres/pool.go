package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Open makes a pool of at most size connections. It does not connect yet. A pool_max_conns in the URL is not used.
func Open(ctx context.Context, url string, size int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	config.MaxConns = int32(size) //nolint:gosec // bounded by its flag
	if _, set := config.ConnConfig.RuntimeParams["application_name"]; !set {
		config.ConnConfig.RuntimeParams["application_name"] = "fencepost"
	}
	config.ConnConfig.Tracer = statementTracer{}
	return pgxpool.NewWithConfig(ctx, config)
}
