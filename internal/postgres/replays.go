package postgres

import (
	"context"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

const replaysSQL = `
SELECT derived.*
FROM unnest($2::uuid[]) AS source (id)
CROSS JOIN LATERAL (
	SELECT ` + jobColumns + `
	FROM etl_job_records
	WHERE principal_scope_hash = $1 AND replay_source_job_record_id = source.id AND job_record_id > $3
	ORDER BY job_record_id
	LIMIT $4
) AS derived`

// Replays implements job.Store.
func (s *Store) Replays(ctx context.Context, owner job.Owner, sources []uuid.UUID, p job.Page) (map[uuid.UUID][]job.Job, error) {
	jobs, err := query(ctx, s, "replays", collectJob, replaysSQL, owner[:], sources, p.After.ID, p.Limit)
	bySource := map[uuid.UUID][]job.Job{}
	for _, j := range jobs {
		bySource[j.Derivation.SourceID] = append(bySource[j.Derivation.SourceID], j)
	}
	return bySource, err
}
