package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

var backlogSQL = statements.Named("backlog")

// Backlog tells what there is to do for all workers together, for metrics. It takes no locks.
func (s *Store) Backlog(ctx context.Context) (worker.Backlog, error) {
	rows, err := query(ctx, s.Reader, "backlog", pgx.RowToStructByPos[worker.Backlog], backlogSQL,
		statements.Args{"limit": worker.MaxBacklogCount})
	if err != nil {
		return worker.Backlog{}, err
	}
	return rows[0], nil
}
