package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

const jobsSQL = `
SELECT ` + jobColumns + `
FROM etl_job_records
WHERE principal_scope_hash = $1 AND job_record_id = ANY ($2)`

// jobSQL is jobsSQL for a single id. PostgreSQL plans it once, and an array of unknown length each time.
const jobSQL = `
SELECT ` + jobColumns + `
FROM etl_job_records
WHERE principal_scope_hash = $1 AND job_record_id = $2`

// Jobs implements job.Store.
func (s *Store) Jobs(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID]job.Job, error) {
	sql, arg := jobsSQL, any(ids)
	if len(ids) == 1 {
		sql, arg = jobSQL, ids[0]
	}
	jobs, err := query(ctx, s, "jobs", collectJob, sql, owner[:], arg)
	byID := make(map[uuid.UUID]job.Job, len(jobs))
	for _, j := range jobs {
		byID[j.ID] = j
	}
	return byID, err
}

// query runs one read and collects its rows.
func query[T any](ctx context.Context, s *Store, verb string, collect pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	var rows []T
	err := s.call(ctx, verb, func(ctx context.Context) error {
		result, _ := s.reader.Query(ctx, sql, args...) // the rows carry the error
		collected, err := pgx.CollectRows(result, collect)
		rows = collected
		return err
	})
	return rows, err
}
