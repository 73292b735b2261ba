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

// Jobs implements job.Store. A single job is read together with those that others want, except for a trace, which is to show
// a statement of its own.
func (s *Store) Jobs(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID]job.Job, error) {
	var jobs []job.Job
	var err error
	switch {
	case len(ids) == 1 && !recording(ctx):
		jobs, err = s.reads.do(ctx, jobKey{owner, ids[0]})
	case len(ids) == 1:
		jobs, err = query(ctx, s, "jobs", collectJob, jobSQL, owner[:], ids[0])
	default:
		jobs, err = query(ctx, s, "jobs", collectJob, jobsSQL, owner[:], ids)
	}
	byID := make(map[uuid.UUID]job.Job, len(jobs))
	for _, j := range jobs {
		byID[j.ID] = j
	}
	return byID, err
}

// gatheredSQL reads the job of each pair of an owner and an id, and tells by its place which one it is. The arrays are
// subqueries so that those of all lengths look the same to the planner, which then plans but once.
const gatheredSQL = `
SELECT ` + jobColumns + `, place
FROM unnest((SELECT $1::bytea[]), (SELECT $2::uuid[])) WITH ORDINALITY AS wanted (owner, id, place)
JOIN etl_job_records ON principal_scope_hash = owner AND job_record_id = id`

// jobKey is the primary key of a job.
type jobKey struct {
	owner job.Owner
	id    uuid.UUID
}

// gatheredJobs reads the jobs that there are.
func (s *Store) gatheredJobs(ctx context.Context, keys []jobKey) ([]placed[job.Job], error) {
	owners, ids := make([][]byte, len(keys)), make([]uuid.UUID, len(keys))
	for i, k := range keys {
		owners[i], ids[i] = k.owner[:], k.id
	}
	return query(ctx, s, "jobs", scanPlacedJob, gatheredSQL, owners, ids)
}

// query runs one statement and collects its rows.
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
