package postgres

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// filterSQL keeps the jobs of an owner that pass what no index answers of a job.Filter; a null parameter keeps all. A job is
// unresolved when it failed or was cancelled and none of its descendants is active or succeeded. OFFSET 0 keeps each step of the
// way down to one probe of the index; otherwise the planner may read all replays of the owner at every step.
const filterSQL = `
FROM etl_job_records AS job
WHERE principal_scope_hash = $1
	AND ($2::timestamptz IS NULL OR created_at > $2)
	AND ($3::timestamptz IS NULL OR created_at < $3)
	AND ($4::boolean IS NULL OR $4 = (job_status IN ('FAILED', 'CANCELLED') AND NOT EXISTS (
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

// listSQL reads an owner's jobs without a filter. Its parameters are subqueries, so that to the planner those of all owners and
// places in the list look the same, and one plan does for all.
const listSQL = `
SELECT ` + jobColumns + `
FROM etl_job_records
WHERE principal_scope_hash = (SELECT $1::bytea) AND job_record_id < (SELECT $2::uuid)
ORDER BY job_record_id DESC
LIMIT (SELECT $3::integer)`

const listFilteredSQL = `SELECT ` + jobColumns + filterSQL + `
	AND job_record_id < $5
ORDER BY job_record_id DESC
LIMIT $6`

// listPartsSQL merges pages of the parts of an owner's jobs that are wanted. A part is one status of either replays or roots,
// and the index has each in the order of the list: however rare a part is, its page takes a scan of no other jobs. The planner
// is not told the limit, because it would rather sort a part that it supposes to be shorter.
const listPartsSQL = `
SELECT page.*
FROM unnest($7::text[]) AS wanted (status)
CROSS JOIN unnest($8::boolean[]) AS kind (is_replay)
CROSS JOIN LATERAL (
	SELECT ` + jobColumns + filterSQL + `
	AND job_status = wanted.status COLLATE "C"
	AND (replay_root_job_record_id IS NOT NULL) = kind.is_replay
	AND job_record_id < $5
	ORDER BY job_record_id DESC
	LIMIT (SELECT $6::integer)
) AS page
ORDER BY job_record_id DESC
LIMIT $6`

// countByStatusSQL has to count one job after the other. Without the conditions that are null it reads only the index.
const countByStatusSQL = `SELECT job_status, count(*)` + filterSQL + `
	AND job_status = ANY ($5 COLLATE "C")
	AND ($6::boolean IS NULL OR (replay_root_job_record_id IS NOT NULL) = $6)
GROUP BY job_status`

// parts are the parts of an owner's jobs in which some may pass the filter, each once.
func parts(f job.Filter) (statuses []job.Status, replay []bool) {
	onlyUnresolved := f.Unresolved != nil && *f.Unresolved
	for _, s := range job.Statuses {
		asked := len(f.Statuses) == 0 || slices.Contains(f.Statuses, s)
		derivable := s == job.StatusFailed || s == job.StatusCancelled
		if asked && (derivable || !onlyUnresolved) {
			statuses = append(statuses, s)
		}
	}
	if f.Replay != nil {
		return statuses, []bool{*f.Replay}
	}
	return statuses, []bool{false, true}
}

func filterArgs(owner job.Owner, f job.Filter) []any {
	return []any{owner[:], f.CreatedAfter, f.CreatedBefore, f.Unresolved}
}

// List implements job.Store.
func (s *Store) List(ctx context.Context, owner job.Owner, f job.Filter, p job.Page) ([]job.Job, error) {
	before := p.After.ID
	if before == uuid.Nil {
		before = uuid.Max
	}
	statuses, replay := parts(f)
	everyPart := len(statuses) == len(job.Statuses) && len(replay) == 2
	if everyPart && f.Unresolved == nil && f.CreatedAfter == nil && f.CreatedBefore == nil {
		return query(ctx, s, "list", collectJob, listSQL, owner[:], before, p.Limit)
	}
	args := append(filterArgs(owner, f), before, p.Limit)
	if everyPart {
		return query(ctx, s, "list", collectJob, listFilteredSQL, args...)
	}
	return query(ctx, s, "list", collectJob, listPartsSQL, append(args, statuses, replay)...)
}

// CountByStatus implements job.Store. It is planned anew each time: a plan for any filter can't leave out what this one does
// not ask for.
func (s *Store) CountByStatus(ctx context.Context, owner job.Owner, f job.Filter) (map[job.Status]int, error) {
	type count struct {
		Status job.Status
		N      int
	}
	statuses, _ := parts(f)
	args := append([]any{pgx.QueryExecModeCacheDescribe}, filterArgs(owner, f)...)
	rows, err := query(ctx, s, "count by status", pgx.RowToStructByPos[count], countByStatusSQL, append(args, statuses, f.Replay)...)
	counts := make(map[job.Status]int, len(rows))
	for _, r := range rows {
		counts[r.Status] = r.N
	}
	return counts, err
}
