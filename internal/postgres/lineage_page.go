package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

var lineageSummarySQL, lineagePageSQL = statements.Named("lineage summary"), statements.Named("lineage page")

// LineagePage implements job.Store. Both statements go out in one round trip.
func (r Reader) LineagePage(ctx context.Context, owner job.Owner, id uuid.UUID, p job.Page) (job.LineageSummary, []job.Job, error) {
	var (
		summary job.LineageSummary
		jobs    []job.Job
	)
	err := r.db.Query(ctx, "lineage page",
		db.Row(lineageSummarySQL, statements.Args{"owner": owner[:], "id": id}, func(row pgx.Row) error {
			return notFound(row.Scan(&summary.RootID, &summary.JobCount, &summary.GenerationCount))
		}),
		db.Rows(lineagePageSQL, statements.Args{
			"owner": owner[:], "id": id, "after_generation": p.After.Generation, "after_id": p.After.ID, "limit": p.Limit,
		}, &jobs, jobRows()))
	return summary, jobs[:min(len(jobs), p.Limit)], err
}
