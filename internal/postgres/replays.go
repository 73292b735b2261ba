package postgres

import (
	"context"

	"github.com/google/uuid"

	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
)

var replaysSQL = statements.Named("replays")

// Replays implements job.Store.
func (r Reader) Replays(ctx context.Context, owner job.Owner, sources []uuid.UUID, p job.Page) (map[uuid.UUID][]job.Job, error) {
	jobs, err := query(ctx, r, "replays", collectJob, replaysSQL,
		statements.Args{"owner": owner[:], "sources": sources, "after": p.After.ID, "limit": p.Limit})
	bySource := map[uuid.UUID][]job.Job{}
	for _, j := range jobs {
		bySource[j.SourceID] = append(bySource[j.SourceID], j)
	}
	return bySource, err
}
