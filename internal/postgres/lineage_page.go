package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// lineageSummarySQL tells the size of the lineage that a job is in.
const lineageSummarySQL = `
SELECT root_id, 1 + count(member.job_record_id), 1 + coalesce(max(member.replay_generation_count), 0)
FROM (
	SELECT coalesce(replay_root_job_record_id, job_record_id) AS root_id
	FROM etl_job_records
	WHERE principal_scope_hash = $1 AND job_record_id = $2
) AS requested
LEFT JOIN etl_job_records AS member
	ON member.principal_scope_hash = $1 AND member.replay_root_job_record_id = root_id
GROUP BY root_id`

// lineagePageSQL reads the jobs behind a position, in the order of the lineage index; the root, which has no lineage
// fields, comes before all of them.
const lineagePageSQL = `
WITH requested AS MATERIALIZED (
	SELECT coalesce(replay_root_job_record_id, job_record_id) AS root_id
	FROM etl_job_records
	WHERE principal_scope_hash = $1 AND job_record_id = $2
)
(SELECT ` + jobColumns + `
FROM etl_job_records
WHERE principal_scope_hash = $1 AND job_record_id = (SELECT root_id FROM requested)
	AND $4 = '00000000-0000-0000-0000-000000000000'::uuid)
UNION ALL
(SELECT ` + jobColumns + `
FROM etl_job_records
WHERE principal_scope_hash = $1 AND replay_root_job_record_id = (SELECT root_id FROM requested)
	AND (replay_generation_count, job_record_id) > ($3, $4)
ORDER BY replay_generation_count, job_record_id
LIMIT $5)`

// LineagePage implements job.Store. Both statements go out in one round trip.
func (s *Store) LineagePage(ctx context.Context, owner job.Owner, id uuid.UUID, p job.Page) (job.LineageSummary, []job.Job, error) {
	var (
		summary job.LineageSummary
		jobs    []job.Job
	)
	err := s.call(ctx, "lineage page", func(ctx context.Context) error {
		batch := &pgx.Batch{}
		batch.Queue(lineageSummarySQL, owner[:], id).QueryRow(func(row pgx.Row) error {
			return notFound(row.Scan(&summary.RootID, &summary.JobCount, &summary.GenerationCount))
		})
		batch.Queue(lineagePageSQL, owner[:], id, p.After.Generation, p.After.ID, p.Limit).Query(func(rows pgx.Rows) (err error) {
			jobs, err = pgx.CollectRows(rows, collectJob)
			return err
		})
		return s.reader.SendBatch(ctx, batch).Close()
	})
	return summary, jobs[:min(len(jobs), p.Limit)], err
}
