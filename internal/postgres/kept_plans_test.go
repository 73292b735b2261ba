package postgres_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
)

// plannedAnew is how often PostgreSQL plans a statement for its arguments before it compares that with one plan for all.
const plannedAnew = 5

// keptStatements are the frequent reads of an owner.
func keptStatements(owner job.Owner, first, step int) []planned {
	kept := []string{"jobs", "list", "lineages", "lineage summary", "lineage page"}
	return slices.DeleteFunc(reads(owner, first, step), func(st planned) bool { return !slices.Contains(kept, st.Name) })
}

// runPrepared runs statements under their names, and prepares those that are not yet.
func (p *planner) runPrepared(all []planned) {
	p.Helper()
	for _, st := range all {
		_, err := p.conn.Prepare(p.Context(), st.Name, st.SQL)
		require.NoError(p, err, st.Name)
		p.run(st.execute())
	}
}

// Owners have few jobs, or many, or none, and what one plan for all supposes is right for neither.
func TestFrequentReadsArePlannedOnceForAllOwners(t *testing.T) {
	t.Parallel()
	p := newPlanner(newWorld(t))
	p.seed(0, fewRows)
	for range plannedAnew {
		p.runPrepared(keptStatements(job.OwnerOf("small"), 0, 1))
		p.runPrepared(keptStatements(job.OwnerOf("large"), 1000, 2))
		p.runPrepared(keptStatements(job.OwnerOf("nobody"), 0, 1))
	}
	rows, err := p.conn.Query(t.Context(), "SELECT name FROM pg_prepared_statements WHERE custom_plans > $1", plannedAnew)
	require.NoError(t, err)
	anew, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Empty(t, anew)
}

// A list's plan may be kept since the table was new, or since autovacuum saw its first rows, and must still be good when it has grown.
func TestPlanOfAListDoesNotOutgrowTheTable(t *testing.T) {
	t.Parallel()
	const firstAnalyzed, page = 51, 51
	for _, known := range []int{0, firstAnalyzed} {
		p := newPlanner(newWorld(t))
		list := named("list", statements.Args{"owner": p.Owner[:], "before": uuid.Max, "limit": page})
		if known > 0 {
			p.pending(0, known)
			p.run("ANALYZE etl_job_records")
		}
		for range 2 * plannedAnew {
			p.runPrepared([]planned{list})
		}
		p.pending(known, fewRows)
		plan := p.explainPrepared(list)
		require.NoError(t, plan.check(0), known)
		require.LessOrEqual(t, plan.buffers(), 50, known)
	}
}
