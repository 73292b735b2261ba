package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// Guards that stand behind other guards. Each of these tests takes the other ones away, by plain SQL if need be, so that the
// one in question has to hold alone. scripts/mutations.txt lists what happens to the tests when a guard is removed.

// verdicts are the three ways in which a worker ends an attempt.
func (w *world) verdicts() map[string]func(context.Context, worker.Lease) error {
	return map[string]func(context.Context, worker.Lease) error{
		"execute": w.store.Execute,
		"retry":   func(ctx context.Context, l worker.Lease) error { return w.store.Retry(ctx, l, 0) },
		"fail":    func(ctx context.Context, l worker.Lease) error { return w.store.Fail(ctx, l, job.FailureTarget) },
	}
}

func TestSupersededWorkerCanGiveNoVerdict(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, old := w.running()
		w.expire(j.ID)
		w.claim()
		before := w.row(j.ID)
		for name, verdict := range w.verdicts() {
			require.ErrorIs(w, verdict(w.Context(), old), worker.ErrStale, name)
		}
		require.Equal(w, before, w.row(j.ID))
	})
}

func TestVerdictNeedsRunningJobEvenWhereLeaseWasLeftBehind(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		w.mustExec(`ALTER TABLE etl_job_records DROP CONSTRAINT etl_job_records_lease_while_running`)
		j, lease := w.running()
		w.mustExec("UPDATE etl_job_records SET job_status = 'PENDING' WHERE job_record_id = $1", j.ID)
		before := w.row(j.ID)
		for name, verdict := range w.verdicts() {
			require.ErrorIs(w, verdict(w.Context(), lease), worker.ErrStale, name)
		}
		require.Equal(w, before, w.row(j.ID))
		w.requireNoEffects(j.ID)
	})
}

func TestFenceNeedsRunningJobEvenWhereLeaseWasLeftBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gatedLoad(t))
	w.mustExec(`ALTER TABLE etl_job_records DROP CONSTRAINT etl_job_records_lease_while_running`)
	w.mustExec(`DROP TRIGGER etl_job_records_success_needs_claim ON etl_job_records`)
	j, lease := w.running()
	open := w.closeGate()
	execution := w.execute(lease)
	w.waitForLock() // the payload was read while the job was RUNNING
	w.mustExec("UPDATE etl_job_records SET job_status = 'PENDING' WHERE job_record_id = $1", j.ID)
	open()
	require.ErrorIs(t, (<-execution).err, worker.ErrStale)
	w.requireNoEffects(j.ID)
}

func TestLongPayloadIsNotEvenLoadedUnderStaleLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLoad(t, `SELECT 1 / 0`)) // a load that is run fails
	superseded, old := w.submitLong(), w.claim()
	w.expire(superseded.ID)
	w.claim()
	require.ErrorIs(t, w.store.Execute(t.Context(), old), worker.ErrStale)

	expired, late := w.submitLong(), w.claim()
	w.expire(expired.ID)
	require.ErrorIs(t, w.store.Execute(t.Context(), late), worker.ErrStale)
}

func TestLeaseExpiringWhileVerdictWaitsMakesItStale(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		for name, verdict := range w.verdicts() {
			j, lease := w.running()
			holding := w.begin()
			_, err := holding.Exec(w.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR NO KEY UPDATE", j.ID)
			require.NoError(w, err)
			done := async(func() (struct{}, error) { return struct{}{}, verdict(w.Context(), lease) })
			w.waitForLock()
			// The lease ends after the verdict's transaction began, whose now() would still see it alive.
			_, err = holding.Exec(w.Context(), "UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1", j.ID)
			require.NoError(w, err)
			require.NoError(w, holding.Commit(w.Context()))
			require.ErrorIs(w, (<-done).err, worker.ErrStale, name)
			require.Equal(w, job.StatusRunning, w.get(j.ID).Status, name)
			w.requireNoEffects(j.ID)
			_, err = w.cancel(j, "k") // out of the way of the next claim
			require.NoError(w, err)
		}
	})
}

func TestClaimReadsTheClockAndNotTheStartOfItsTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claiming := w.begin()
	_, err := claiming.Exec(t.Context(), "SELECT now()")
	require.NoError(t, err)
	running, _ := w.running()
	pending := w.submit() // due after the transaction began, as is the other one
	w.mustExec("UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1", running.ID)

	rows, err := claiming.Query(t.Context(), claimSQL, 10, uuid.New(), time.Minute, maxAttempts, job.FailureAttemptsExhausted, maxClaimedPayload)
	require.NoError(t, err)
	leases, err := pgx.CollectRows(rows, scanClaim)
	require.NoError(t, err)
	require.ElementsMatch(t, []uuid.UUID{running.ID, pending.ID}, leasedIDs(worker.Claimed{Leases: leases}))
	require.NoError(t, claiming.Commit(t.Context()))
	require.Equal(t, 2, w.count("etl_job_records WHERE lease_expires_at > created_at + interval '1 minute'"))
}

func TestFenceAndLedgerMeetTheLockTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLockTimeout(50*time.Millisecond))
	j, lease := w.running()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, lock := range []string{"NO KEY UPDATE", "UPDATE"} { // the fence waits for the first, the ledger row for the second
		holding := w.begin()
		_, err := holding.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR "+lock, j.ID)
		require.NoError(t, err)
		err = w.store.Execute(ctx, lease)
		requireLoadError(t, job.FailureTargetUnavailable, true, err)
		requireSQLState(t, codeLockNotAvailable, err)
		w.requireNoEffects(j.ID)
		require.NoError(t, holding.Rollback(t.Context()))
	}
}

func TestLineageTriggerWaitsForAnUndecidedSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	insert := func(source uuid.UUID) <-chan result[struct{}] {
		return async(func() (struct{}, error) {
			return struct{}{}, w.insertReplay(func(c map[string]any) { c["source"], c["root"] = source, source })
		})
	}
	source := w.submit()
	cancelling := w.begin()
	_, err := cancelling.Exec(t.Context(), cancelSQL, w.owner[:], source.ID, make([]byte, 32), job.CancellationByOwner)
	require.NoError(t, err)
	inserted := insert(source.ID)
	w.waitForLock()
	require.NoError(t, cancelling.Commit(t.Context()))
	require.NoError(t, (<-inserted).err)

	source = w.failed()
	deleting := w.beginAsAdmin()
	_, err = deleting.Exec(t.Context(), "DELETE FROM etl_job_records WHERE job_record_id = $1", source.ID)
	require.NoError(t, err)
	inserted = insert(source.ID)
	w.waitForLock()
	require.NoError(t, deleting.Commit(t.Context()))
	requireSQLState(t, "23001", (<-inserted).err)
}

// twins gives every job of this owner a twin of another owner, with the same id, key, lease and all, but never due.
func (w *world) twins(other job.Owner) {
	w.Helper()
	w.mustExec(`INSERT INTO etl_job_records SELECT (jsonb_populate_record(mine, jsonb_build_object(
			'principal_scope_hash', $1::bytea::text, 'next_attempt_at', clock_timestamp() + interval '1 hour'))).*
		FROM etl_job_records AS mine ORDER BY job_record_id`, other[:])
}

func TestEveryWriteIsScopedToItsOwnerEvenAmongTwins(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		other := job.OwnerOf("owner b")
		source := w.failed()
		_, executed := w.running()
		_, retried := w.running()
		_, failed := w.running()
		cancelled, claimed := w.submit(), w.submit()
		w.twins(other)
		w.mustExec(`UPDATE etl_job_records SET next_attempt_at = clock_timestamp() + interval '1 hour'
			WHERE principal_scope_hash = $1 AND job_status = 'PENDING'`, other[:]) // so that the claim is of the owner's own job
		twinRows := func() string {
			var text string
			require.NoError(w, w.admin.QueryRow(w.Context(), `SELECT string_agg(r::text, E'\n' ORDER BY job_record_id)
				FROM etl_job_records AS r WHERE principal_scope_hash = $1`, other[:]).Scan(&text))
			return text
		}
		before := twinRows()

		require.NoError(w, w.store.Execute(w.Context(), executed))
		require.NoError(w, w.store.Retry(w.Context(), retried, time.Hour))
		require.NoError(w, w.store.Fail(w.Context(), failed, job.FailureTarget))
		_, err := w.cancel(cancelled, "k")
		require.NoError(w, err)
		require.Equal(w, claimed.ID, w.claim().JobID)
		_, err = w.replay(source, "k")
		require.NoError(w, err)

		require.Equal(w, before, twinRows())
		require.Zero(w, w.count("processed_data WHERE principal_scope_hash = $1", other[:]))
		require.Zero(w, w.count("etl_idempotency_records WHERE principal_scope_hash = $1", other[:]))
	})
}

func TestOneTextHasAnotherHashForEachJobThatItCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		_, err := w.cancel(w.submit(), "the same text")
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.count("(SELECT DISTINCT cancellation_key_hash FROM etl_job_records) AS hashes"))
}
