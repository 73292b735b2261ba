package retention_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/deploy/roles"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/retention"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is [storetest.World], with what these tests need besides.
type world struct{ *storetest.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{storetest.New(t)}
}

// purger is a pool of the role that purges. Nothing on it waits for long.
func (w *world) purger() *pgxpool.Pool {
	w.Helper()
	return pgtest.PoolOn(w, pgtest.As(w, w.URL, roles.Retention)+"&lock_timeout=5s")
}

// purge removes what is older than an hour. It may not wait for anybody.
func (w *world) purge(batchSize int) retention.Purged {
	w.Helper()
	purged, err := retention.Purge(w.Context(), w.purger(), retention.Policy{OlderThan: time.Hour, BatchSize: batchSize})
	require.NoError(w, err)
	return purged
}

// age makes a job look as if nothing had changed it for two hours. No trigger may see that.
func (w *world) age(ids ...uuid.UUID) {
	w.Helper()
	tx := w.BeginAsAdmin()
	_, err := tx.Exec(w.Context(), "SET LOCAL session_replication_role = replica")
	require.NoError(w, err)
	_, err = tx.Exec(w.Context(), `UPDATE etl_job_records SET updated_at = clock_timestamp() - interval '2 hours'
		WHERE job_record_id = ANY ($1)`, ids)
	require.NoError(w, err)
	require.NoError(w, tx.Commit(w.Context()))
}

// replayed makes a replay of a job, in state PENDING.
func (w *world) Replayed(source job.Job) job.Job {
	w.Helper()
	accepted, err := w.Replay(source, uuid.NewString())
	require.NoError(w, err)
	return accepted.Job
}

// chain makes a lineage of so many cancelled generations.
func (w *world) chain(generations int) []uuid.UUID {
	w.Helper()
	j := w.CancelledJob()
	ids := []uuid.UUID{j.ID}
	for range generations - 1 {
		accepted, err := w.Cancel(w.Replayed(j), "cancel")
		require.NoError(w, err)
		j = accepted.Job
		ids = append(ids, j.ID)
	}
	return ids
}

// rows are all rows of jobs and ledger, to see whether anything at all changed.
func (w *world) rows() string {
	w.Helper()
	var text string
	require.NoError(w, w.Admin.QueryRow(w.Context(), `SELECT concat(
		(SELECT string_agg(j::text, E'\n' ORDER BY principal_scope_hash, job_record_id) FROM etl_job_records AS j),
		(SELECT string_agg(l::text, E'\n' ORDER BY principal_scope_hash, job_record_id) FROM etl_idempotency_records AS l))`).Scan(&text))
	return text
}

func TestPurgeRemovesOldTerminalJobsWithTheirLedgerRowsAndKeepsWhatTheyLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded, failed, cancelled := w.SucceededJob(), w.FailedJob(), w.CancelledJob()
	running, _ := w.RunningJob()
	pending := w.Submit()
	w.age(succeeded.ID, failed.ID, cancelled.ID, running.ID, pending.ID)
	young := w.SucceededJob()

	require.Equal(t, retention.Purged{Lineages: 3, Jobs: 3, LedgerRows: 1}, w.purge(100))
	require.Equal(t, 3, w.Count("etl_job_records WHERE job_record_id = ANY ($1)", []uuid.UUID{running.ID, pending.ID, young.ID}))
	require.Equal(t, 3, w.Count("etl_job_records"))
	require.Equal(t, 1, w.Count("etl_idempotency_records"))
	require.Equal(t, 2, w.Count("processed_data WHERE job_record_id = $1", succeeded.ID))
	require.Zero(t, w.purge(100))
}

func TestPurgeKeepsLineageWholeWhileAnyOfItsJobsIsYoung(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const generations = 4
	for young := range generations {
		ids := w.chain(generations)
		w.age(append(ids[:young:young], ids[young+1:]...)...)
		require.Zero(t, w.purge(100), "generation %d is young", young)
		w.age(ids...)
		require.Equal(t, retention.Purged{Lineages: 1, Jobs: generations}, w.purge(100))
	}
}

func TestPurgeKeepsLineageWholeWhileAnyOfItsJobsIsActive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.FailedJob()
	cancelled := w.Replayed(root)
	_, err := w.Cancel(cancelled, "k")
	require.NoError(t, err)
	active := w.Replayed(root)
	ids := []uuid.UUID{root.ID, cancelled.ID, active.ID}
	w.age(ids...)
	require.Zero(t, w.purge(100), "a replay is pending")
	lease := w.Claim()
	w.age(ids...)
	require.Zero(t, w.purge(100), "a replay is running")
	require.NoError(t, w.Store.Execute(t.Context(), lease))
	w.age(ids...)
	require.Equal(t, retention.Purged{Lineages: 1, Jobs: 3, LedgerRows: 1}, w.purge(100))
}

func TestPurgeRemovesTheSameWhateverTheBatchSize(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 7, 1000} {
		w := newWorld(t)
		w.age(append(w.chain(1), w.SucceededJob().ID)...)
		w.Twins(job.OwnerOf("owner b"))
		for _, generations := range []int{2, 3, 4} {
			w.age(w.chain(generations)...)
		}
		w.Submit()
		dry, err := retention.Purge(t.Context(), w.purger(), retention.Policy{OlderThan: time.Hour, BatchSize: size, DryRun: true})
		require.NoError(t, err)
		require.Equal(t, retention.Purged{Lineages: 7, Jobs: 13, LedgerRows: 1}, dry)
		require.Equal(t, dry, w.purge(size))
		require.Equal(t, 1, w.Count("etl_job_records"))
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.age(append(w.chain(2), w.SucceededJob().ID)...)
	before := w.rows()
	purged, err := retention.Purge(t.Context(), w.purger(), retention.Policy{OlderThan: time.Hour, BatchSize: 100, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, retention.Purged{Lineages: 2, Jobs: 3, LedgerRows: 1}, purged)
	require.Equal(t, before, w.rows())
}

func TestPurgeOfOneOwnersLineageLeavesAnothersTwinAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root, succeeded := w.FailedJob(), w.SucceededJob()
	other := job.OwnerOf("owner b")
	w.Twins(other)
	w.MustExec(`INSERT INTO etl_idempotency_records SELECT $1, job_record_id, request_digest, record_count FROM etl_idempotency_records`, other[:])
	w.MustExec(`INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number, attempt_outcome, started_at)
		SELECT principal_scope_hash, job_record_id, 1, 'retried', created_at FROM etl_job_records`)
	replay := w.Replayed(root)
	_, err := w.Cancel(replay, "k")
	require.NoError(t, err)
	mine := []uuid.UUID{root.ID, succeeded.ID, replay.ID}
	tx := w.BeginAsAdmin()
	_, err = tx.Exec(t.Context(), "SET LOCAL session_replication_role = replica")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `UPDATE etl_job_records SET updated_at = clock_timestamp() - interval '2 hours'
		WHERE principal_scope_hash = $1 AND job_record_id = ANY ($2)`, w.Owner[:], mine)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))

	require.Equal(t, retention.Purged{Lineages: 2, Jobs: 3, LedgerRows: 1}, w.purge(100))
	require.Equal(t, 2, w.Count("etl_job_records WHERE principal_scope_hash = $1", other[:]))
	require.Equal(t, 1, w.Count("etl_idempotency_records WHERE principal_scope_hash = $1", other[:]))
	require.Equal(t, 2, w.Count("etl_job_attempts WHERE principal_scope_hash = $1", other[:]))
	require.Equal(t, 2, w.Count("etl_job_attempts"))
}

func TestKeysOfPurgedJobsMakeNewJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submit := func(payload string) job.Accepted {
		accepted, err := w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "monday"), []byte(payload))
		require.NoError(t, err)
		return accepted
	}
	first := submit(`[{"id":"a"}]`)
	require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
	require.True(t, submit(`[{"id":"a"}]`).Replayed)
	w.age(first.Job.ID)
	require.Equal(t, retention.Purged{Lineages: 1, Jobs: 1, LedgerRows: 1}, w.purge(100))

	second := submit(`[{"id":"b"}]`)
	require.False(t, second.Replayed)
	require.NotEqual(t, first.Job.ID, second.Job.ID)
	require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
	require.Equal(t, 2, w.Count("processed_data"), "what both have loaded is there")
}

// purgeInTransaction purges everything that has ended in a transaction that is left undecided.
func (w *world) purgeInTransaction(want retention.Purged) pgx.Tx {
	w.Helper()
	tx := w.BeginOn(w.purger())
	purged, err := purgeStep(w.Context(), tx)
	require.NoError(w, err)
	require.Equal(w, want, purged)
	return tx
}

func purgeStep(ctx context.Context, tx pgx.Tx) (retention.Purged, error) {
	purge := statements.Named("purge")
	var purged retention.Purged
	err := tx.QueryRow(ctx, purge.SQL, purge.Positional(statements.Args{
		"behind_owner": []byte{}, "behind_id": uuid.Nil, "age": time.Duration(0), "batch_size": 100,
	})...).Scan(&purged.Lineages, &purged.Jobs, &purged.LedgerRows, nil, nil)
	return purged, err
}

func TestReplayThatIsUndecidedKeepsItsLineage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.chain(3)
	w.age(append(w.chain(2), ids...)...)
	_, replaying := w.ReplayInTransaction(w.Get(ids[2]))
	require.Equal(t, retention.Purged{Lineages: 1, Jobs: 2}, w.purge(100), "the other lineage; and it does not wait")
	require.NoError(t, replaying.Commit(t.Context()))
	require.Zero(t, w.purge(100))
	require.Equal(t, 4, w.Count("etl_job_records"))
}

// A replay locks its source first and its root later. A purge that took the root in between, and then waited for the source,
// would make a deadlock.
func TestReplayThatHoldsOnlyItsSourceKeepsItsLineage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.chain(3)
	w.age(ids...)
	for _, id := range ids {
		holding := w.Begin()
		_, err := holding.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR SHARE", id)
		require.NoError(t, err)
		require.Zero(t, w.purge(100))
		require.NoError(t, holding.Rollback(t.Context()))
	}
	require.Equal(t, retention.Purged{Lineages: 1, Jobs: 3}, w.purge(100))
}

// replayBehindPurge makes a replay that waits for a purge of its source, a lineage of two.
func (w *world) replayBehindPurge() (purging pgx.Tx, replaying <-chan storetest.Result[job.Accepted]) {
	w.Helper()
	source := w.Get(w.chain(2)[1])
	purging = w.purgeInTransaction(retention.Purged{Lineages: 1, Jobs: 2})
	replaying = storetest.Async(func() (job.Accepted, error) { return w.Replay(source, "k") })
	w.WaitForLock()
	return purging, replaying
}

func TestReplayBehindAPurgeWaitsAndFindsNoSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	purging, replaying := w.replayBehindPurge()
	require.NoError(t, purging.Commit(t.Context()))
	storetest.RequireProblem(t, job.CodeJobNotFound, (<-replaying).Err)
	require.Zero(t, w.Count("etl_job_records"))
}

func TestReplayBehindAPurgeThatRollsBackIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	purging, replaying := w.replayBehindPurge()
	require.NoError(t, purging.Rollback(t.Context()))
	require.NoError(t, (<-replaying).Err)
	require.Equal(t, 3, w.Count("etl_job_records"))
}

// The snapshot of a repeatable read stands for that of a statement which began before the replay committed.
func TestReplayCommittedBehindTheSnapshotOfAPurgeMakesItFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.Get(w.chain(2)[1])
	purging, err := w.purger().BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	_, err = purging.Exec(t.Context(), "SELECT job_record_id FROM etl_job_records")
	require.NoError(t, err)
	w.Replayed(source)
	_, err = purgeStep(t.Context(), purging)
	storetest.RequireStillReferenced(t, err)
	require.True(t, retention.StillReferenced(err))
	require.NoError(t, purging.Rollback(t.Context()))
	require.Equal(t, 3, w.Count("etl_job_records"))
}

// onDelete runs PL/pgSQL before each deletion of a job.
func (w *world) onDelete(body string) {
	w.Helper()
	w.MustExec(`CREATE FUNCTION on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + body + ` RETURN OLD; END $$`)
	w.MustExec(`CREATE TRIGGER on_delete BEFORE DELETE ON etl_job_records FOR EACH ROW EXECUTE FUNCTION on_delete()`)
}

func TestPurgeThatAForeignKeyRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.age(w.chain(1)...)
	w.MustExec(`CREATE SEQUENCE deletions; GRANT USAGE ON deletions TO fencepost_retention`)
	w.onDelete(`IF nextval('deletions') < 3 THEN RAISE foreign_key_violation; END IF;`)
	require.Equal(t, retention.Purged{Lineages: 1, Jobs: 1}, w.purge(100))
}

func TestPurgeThatAForeignKeyRefusesEachTimeFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.age(w.chain(1)...)
	w.onDelete(`RAISE foreign_key_violation;`)
	_, err := retention.Purge(t.Context(), w.purger(), retention.Policy{OlderThan: time.Hour, BatchSize: 1})
	storetest.RequireSQLState(t, "23503", err)
	require.Equal(t, 1, w.Count("etl_job_records"))
}

func TestTwoPurgesAtOnceRemoveEachLineageOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.age(w.chain(2)...)
	first := w.purgeInTransaction(retention.Purged{Lineages: 1, Jobs: 2})
	require.Zero(t, w.purge(100), "and it does not wait")
	require.NoError(t, first.Commit(t.Context()))
	require.Zero(t, w.Count("etl_job_records"))
}

func TestPurgeThatIsStoppedFinishesItsBatchAndCanGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.age(w.chain(1)...)
	w.age(w.chain(2)...)
	w.onDelete(`PERFORM pg_advisory_xact_lock_shared(4711);`)
	pool := w.purger()
	open := w.CloseGate()
	ctx, stop := context.WithCancel(t.Context())
	purging := storetest.Async(func() (retention.Purged, error) {
		return retention.Purge(ctx, pool, retention.Policy{OlderThan: time.Hour, BatchSize: 1})
	})
	w.WaitForLock()
	stop()
	open()
	got := <-purging
	require.ErrorIs(t, got.Err, context.Canceled)
	require.Equal(t, retention.Purged{Lineages: 1, Jobs: 1}, got.Value)
	require.Equal(t, retention.Purged{Lineages: 1, Jobs: 2}, w.purge(1))
}

func TestPurgeWithoutADatabaseFails(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	pool.Close()
	_, err := retention.Purge(t.Context(), pool, retention.Policy{BatchSize: 1})
	require.ErrorContains(t, err, "purge: ")
}
