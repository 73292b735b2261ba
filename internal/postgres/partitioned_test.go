package postgres_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/deploy/roles"
	"fencepost/internal/job"
)

// partition runs what the document about scaling out says about partitions.
func (w *world) partition() {
	w.Helper()
	document, err := os.ReadFile("../../docs/scaling-out.md")
	require.NoError(w, err)
	_, text, found := strings.Cut(string(document), "```sql\nBEGIN;")
	require.True(w, found)
	text, _, _ = strings.Cut(text, "```")
	w.MustExec("BEGIN;" + text)
	w.MustExec(roles.Grant)
}

// guards are the names of all constraints, indexes and triggers of the tables, those of partitions left out.
func (w *world) guards() []string {
	w.Helper()
	rows, err := w.Pool.Query(w.Context(), `
		WITH tables AS (SELECT unnest(ARRAY['etl_job_records', 'etl_idempotency_records', 'processed_data'])::regclass AS id)
		SELECT conname FROM pg_constraint, tables WHERE conrelid = id AND conparentid = 0 AND contype <> 'n'
		UNION ALL SELECT indexrelid::regclass::text FROM pg_index, tables WHERE indrelid = id
		UNION ALL SELECT tgname FROM pg_trigger, tables WHERE tgrelid = id AND NOT tgisinternal
		ORDER BY 1`)
	require.NoError(w, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w, err)
	return names
}

func TestEveryVerbHoldsOnTablesPartitionedByOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guards, old := w.guards(), w.FailedJob()
	w.partition()
	w.StorePool.Reset() // as a restart of the process, which the document asks for
	require.Equal(t, guards, w.guards())
	require.Equal(t, old, w.Get(old.ID))

	accepted, err := w.Replay(old, "replay")
	require.NoError(t, err)
	require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
	w.RequireEffectsOnce(accepted.Job.ID)
	again, err := w.Replay(old, "replay")
	require.NoError(t, err)
	require.True(t, again.Replayed)

	running, lease := w.RunningJob()
	_, err = w.Cancel(running, "cancel")
	require.NoError(t, err)
	require.Error(t, w.Store.Execute(t.Context(), lease))
	w.RequireNoEffects(running.ID)

	w.FailedJob()
	w.SucceededJob()
	lineage, err := w.Service.Lineage(t.Context(), w.Owner, accepted.Job.ID.String())
	require.NoError(t, err)
	require.Equal(t, old.ID, lineage.Root().ID)
	require.Error(t, w.Exec("UPDATE etl_job_records SET job_status = 'PENDING' WHERE job_record_id = $1", old.ID), "terminal")
	require.Equal(t, job.StatusFailed, w.Get(old.ID).Status)
	require.Positive(t, w.Count("pg_inherits WHERE inhparent = 'etl_job_records'::regclass"))
}
