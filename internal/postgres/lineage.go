package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// lineagesSQL reads the lineages that the ids ($2) are in, each up to one job over the limit. A root's row also tells which
// of the ids belong to it. It is planned once for all owners, as listSQL is.
const lineagesSQL = `
WITH lineage AS MATERIALIZED (
	SELECT principal_scope_hash AS owner, coalesce(replay_root_job_record_id, job_record_id) AS root_id,
		array_agg(job_record_id) AS requested
	FROM etl_job_records
	WHERE principal_scope_hash = (SELECT $1::bytea) AND job_record_id = ANY ((SELECT $2::uuid[])::uuid[])
	GROUP BY 1, 2
)
SELECT member.*, CASE WHEN member.replay_generation_count IS NULL THEN lineage.requested END
FROM lineage CROSS JOIN LATERAL (
	SELECT ` + jobColumns + `
	FROM etl_job_records
	WHERE principal_scope_hash = lineage.owner AND job_record_id = lineage.root_id
	UNION ALL
	(SELECT ` + jobColumns + `
	FROM etl_job_records
	WHERE principal_scope_hash = lineage.owner AND replay_root_job_record_id = lineage.root_id
	ORDER BY replay_generation_count, job_record_id
	LIMIT (SELECT $3::integer))
) AS member`

// lineageSizesSQL counts whole lineages, by their roots ($2) and by status.
const lineageSizesSQL = `
SELECT coalesce(replay_root_job_record_id, job_record_id), job_status, count(*), max(coalesce(replay_generation_count, 0)) + 1
FROM etl_job_records
WHERE principal_scope_hash = $1 AND (job_record_id = ANY ($2) OR replay_root_job_record_id = ANY ($2))
GROUP BY 1, 2`

// ancestriesSQL walks from each of the ids ($2) up to its root. Generations only fall on the way, so it ends.
const ancestriesSQL = `
WITH RECURSIVE ancestor AS (
	SELECT job_record_id AS requested_id, ` + jobColumns + `
	FROM etl_job_records
	WHERE principal_scope_hash = $1 AND job_record_id = ANY ($2)
	UNION ALL
	SELECT ancestor.requested_id, source.*
	FROM ancestor CROSS JOIN LATERAL (
		SELECT ` + jobColumns + `
		FROM etl_job_records
		WHERE principal_scope_hash = $1 AND job_record_id = ancestor.replay_source_job_record_id
	) AS source
)
SELECT ` + jobColumns + `, requested_id
FROM ancestor
ORDER BY requested_id, coalesce(replay_generation_count, 0)`

// A lineageRow is one job of a lineage; a root's also has those of the requested ids that are in its lineage.
type lineageRow struct {
	job       job.Job
	requested []uuid.UUID
}

// Lineages implements job.Store. It takes one statement, and two more when a lineage is over the limit.
func (s *Store) Lineages(ctx context.Context, owner job.Owner, ids []uuid.UUID, limit int) (map[uuid.UUID]job.Lineage, error) {
	rows, err := query(ctx, s, "lineages", func(row pgx.CollectableRow) (r lineageRow, err error) {
		r.job, err = scanJob(row, &r.requested)
		return r, err
	}, lineagesSQL, owner[:], ids, limit)
	members := map[uuid.UUID][]job.Job{}
	for _, r := range rows {
		members[r.job.RootID()] = append(members[r.job.RootID()], r.job)
	}
	lineages := make(map[uuid.UUID]job.Lineage, len(ids))
	truncated := map[uuid.UUID][]job.Job{}
	for _, r := range rows {
		for _, id := range r.requested {
			if jobs := members[r.job.ID]; len(jobs) <= limit {
				lineages[id] = job.NewLineage(id, jobs)
			} else {
				truncated[id] = jobs[:limit]
			}
		}
	}
	return lineages, errors.Join(err, s.addTruncated(ctx, owner, truncated, lineages))
}

// addTruncated makes the lineages of which only the first jobs were read, by the id asked for.
func (s *Store) addTruncated(ctx context.Context, owner job.Owner, truncated map[uuid.UUID][]job.Job, lineages map[uuid.UUID]job.Lineage) error {
	if len(truncated) == 0 {
		return nil
	}
	var roots []uuid.UUID
	for _, jobs := range truncated {
		roots = append(roots, jobs[0].RootID())
	}
	sizes, errSizes := s.lineageSizes(ctx, owner, roots)
	ancestries, errAncestries := s.ancestries(ctx, owner, slices.Collect(maps.Keys(truncated)))
	for id, jobs := range truncated {
		l := sizes[jobs[0].RootID()]
		l.Jobs, l.Ancestry, l.Truncated = jobs, ancestries[id], true
		lineages[id] = l
	}
	return errors.Join(errSizes, errAncestries)
}

// lineageSizes counts lineages by their roots.
func (s *Store) lineageSizes(ctx context.Context, owner job.Owner, roots []uuid.UUID) (map[uuid.UUID]job.Lineage, error) {
	type size struct {
		Root        uuid.UUID
		Status      job.Status
		Count       int
		Generations int
	}
	rows, err := query(ctx, s, "lineage sizes", pgx.RowToStructByPos[size], lineageSizesSQL, owner[:], roots)
	sizes := map[uuid.UUID]job.Lineage{}
	for _, r := range rows {
		l := sizes[r.Root]
		if l.StatusCounts == nil {
			l.StatusCounts = map[job.Status]int{}
		}
		l.StatusCounts[r.Status] = r.Count
		l.GenerationCount = max(l.GenerationCount, r.Generations)
		sizes[r.Root] = l
	}
	return sizes, err
}

// ancestries reads the chains from the roots down to each of the ids.
func (s *Store) ancestries(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID][]job.Job, error) {
	type step struct {
		job         job.Job
		requestedID uuid.UUID
	}
	steps, err := query(ctx, s, "ancestries", func(row pgx.CollectableRow) (st step, err error) {
		st.job, err = scanJob(row, &st.requestedID)
		return st, err
	}, ancestriesSQL, owner[:], ids)
	chains := map[uuid.UUID][]job.Job{}
	for _, st := range steps {
		chains[st.requestedID] = append(chains[st.requestedID], st.job)
	}
	return chains, err
}
