package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/worker"
)

// backlogSQL looks at no more than the two partial indexes that workers claim by, whose order it asks for so that no plan
// reads the table instead. Each count stops at $1. GREATEST passes over the null that there is without pending jobs.
const backlogSQL = `
SELECT
	(SELECT count(*) FROM (
		SELECT FROM etl_job_records WHERE job_status = 'PENDING' ORDER BY next_attempt_at LIMIT $1) AS pending),
	(SELECT count(*) FROM (
		SELECT FROM etl_job_records WHERE lease_owner_id IS NOT NULL ORDER BY lease_expires_at LIMIT $1) AS running),
	(SELECT count(*) FROM (
		SELECT FROM etl_job_records WHERE lease_owner_id IS NOT NULL AND lease_expires_at <= now()
		ORDER BY lease_expires_at LIMIT $1) AS expired),
	greatest(now() - (SELECT min(next_attempt_at) FROM etl_job_records WHERE job_status = 'PENDING'), interval '0')`

// Backlog tells what there is to do for all workers together, for metrics. It takes no locks.
func (s *Store) Backlog(ctx context.Context) (worker.Backlog, error) {
	rows, err := query(ctx, s, "backlog", pgx.RowToStructByPos[worker.Backlog], backlogSQL, worker.MaxBacklogCount)
	if err != nil {
		return worker.Backlog{}, err
	}
	return rows[0], nil
}
