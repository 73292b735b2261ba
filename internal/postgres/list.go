package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// filterSQL keeps the jobs of an owner that pass a job.Filter; a null parameter keeps all. A job is unresolved when it
// failed or was cancelled and none of its descendants is active or succeeded. OFFSET 0 keeps each step of the way down to one
// probe of the index; otherwise the planner may read all replays of the owner at every step.
const filterSQL = `
FROM etl_job_records AS job
WHERE principal_scope_hash = $1
	AND ($2::text[] IS NULL OR job_status = ANY ($2))
	AND ($3::boolean IS NULL OR (replay_generation_count IS NOT NULL) = $3)
	AND ($4::timestamptz IS NULL OR created_at > $4)
	AND ($5::timestamptz IS NULL OR created_at < $5)
	AND ($6::boolean IS NULL OR $6 = (job_status IN ('FAILED', 'CANCELLED') AND NOT EXISTS (
		WITH RECURSIVE descendant AS (
			SELECT derived.job_record_id, derived.job_status
			FROM etl_job_records AS derived
			WHERE derived.principal_scope_hash = job.principal_scope_hash
				AND derived.replay_source_job_record_id = job.job_record_id
			UNION ALL
			SELECT derived.job_record_id, derived.job_status
			FROM descendant CROSS JOIN LATERAL (
				SELECT job_record_id, job_status
				FROM etl_job_records
				WHERE principal_scope_hash = job.principal_scope_hash
					AND replay_source_job_record_id = descendant.job_record_id
				OFFSET 0
			) AS derived
		)
		SELECT FROM descendant WHERE job_status NOT IN ('FAILED', 'CANCELLED'))))`

const listSQL = `SELECT ` + jobColumns + filterSQL + `
	AND job_record_id < $7
ORDER BY job_record_id DESC
LIMIT $8`

const countByStatusSQL = `SELECT job_status, count(*)` + filterSQL + `
GROUP BY job_status`

func filterArgs(owner job.Owner, f job.Filter) []any {
	return []any{owner[:], f.Statuses, f.Replay, f.CreatedAfter, f.CreatedBefore, f.Unresolved}
}

// List implements job.Store.
func (s *Store) List(ctx context.Context, owner job.Owner, f job.Filter, p job.Page) ([]job.Job, error) {
	before := p.After.ID
	if before == uuid.Nil {
		before = uuid.Max
	}
	return query(ctx, s, "list", collectJob, listSQL, append(filterArgs(owner, f), before, p.Limit)...)
}

// CountByStatus implements job.Store.
func (s *Store) CountByStatus(ctx context.Context, owner job.Owner, f job.Filter) (map[job.Status]int, error) {
	type count struct {
		Status job.Status
		N      int
	}
	rows, err := query(ctx, s, "count by status", pgx.RowToStructByPos[count], countByStatusSQL, filterArgs(owner, f)...)
	counts := make(map[job.Status]int, len(rows))
	for _, r := range rows {
		counts[r.Status] = r.N
	}
	return counts, err
}
