package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
)

var (
	lineagesSQL     = statements.Named("lineages")
	lineageSizesSQL = statements.Named("lineage sizes")
	ancestriesSQL   = statements.Named("ancestries")
)

// A lineageRow is one job of a lineage; a root's also has those of the requested ids that are in its lineage.
type lineageRow struct {
	job       job.Job
	requested []uuid.UUID
}

// Lineages implements job.Store. It takes one statement, and two more when a lineage is over the limit.
func (r Reader) Lineages(ctx context.Context, owner job.Owner, ids []uuid.UUID, limit int) (map[uuid.UUID]job.Lineage, error) {
	rows, err := query(ctx, r, "lineages", jobRowsWith(func(j job.Job, requested []uuid.UUID) lineageRow { return lineageRow{j, requested} }),
		lineagesSQL, statements.Args{"owner": owner[:], "ids": ids, "limit": limit})
	members := map[uuid.UUID][]job.Job{}
	for _, r := range rows {
		members[r.job.RootID()] = append(members[r.job.RootID()], r.job)
	}
	found := make(map[uuid.UUID]job.Lineage, len(ids))
	truncated := map[uuid.UUID][]job.Job{}
	for _, r := range rows {
		for _, id := range r.requested {
			if jobs := members[r.job.ID]; len(jobs) <= limit {
				found[id] = job.NewLineage(id, jobs)
			} else {
				truncated[id] = jobs[:limit]
			}
		}
	}
	return found, errors.Join(err, r.addTruncated(ctx, owner, truncated, found))
}

// addTruncated makes the lineages of which only the first jobs were read, by the id asked for.
func (r Reader) addTruncated(ctx context.Context, owner job.Owner, truncated map[uuid.UUID][]job.Job, lineages map[uuid.UUID]job.Lineage) error {
	if len(truncated) == 0 {
		return nil
	}
	var roots []uuid.UUID
	for _, jobs := range truncated {
		roots = append(roots, jobs[0].RootID())
	}
	sizes, errSizes := r.lineageSizes(ctx, owner, roots)
	ancestries, errAncestries := r.ancestries(ctx, owner, slices.Collect(maps.Keys(truncated)))
	for id, jobs := range truncated {
		if len(ancestries[id]) == 0 { // it was purged since
			continue
		}
		l := sizes[jobs[0].RootID()]
		l.Jobs, l.Ancestry, l.Truncated = jobs, ancestries[id], true
		lineages[id] = l
	}
	return errors.Join(errSizes, errAncestries)
}

// lineageSizes counts lineages by their roots.
func (r Reader) lineageSizes(ctx context.Context, owner job.Owner, roots []uuid.UUID) (map[uuid.UUID]job.Lineage, error) {
	type size struct {
		Root        uuid.UUID
		Status      job.Status
		Count       int
		Generations int
	}
	rows, err := query(ctx, r, "lineage sizes", pgx.RowToStructByPos[size], lineageSizesSQL, statements.Args{"owner": owner[:], "roots": roots})
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
func (r Reader) ancestries(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID][]job.Job, error) {
	type step struct {
		job         job.Job
		requestedID uuid.UUID
	}
	steps, err := query(ctx, r, "ancestries", jobRowsWith(func(j job.Job, requestedID uuid.UUID) step { return step{j, requestedID} }),
		ancestriesSQL, statements.Args{"owner": owner[:], "ids": ids})
	chains := map[uuid.UUID][]job.Job{}
	for _, st := range steps {
		chains[st.requestedID] = append(chains[st.requestedID], st.job)
	}
	return chains, err
}
