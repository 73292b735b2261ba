package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// Guards that stand behind other guards. Each of these tests takes the other ones away, by plain SQL if need be, so that the
// one in question has to hold alone. scripts/mutations.txt lists what happens to the tests when a guard is removed.

// verdicts are the three ways in which a worker ends an attempt.
func (w *world) verdicts() map[string]func(context.Context, worker.Lease) error {
	return map[string]func(context.Context, worker.Lease) error{
		"execute": w.Store.Execute,
		"retry": func(ctx context.Context, l worker.Lease) error {
			return w.Store.Retry(ctx, l, worker.Return{Outcome: job.AttemptRetried})
		},
		"fail": func(ctx context.Context, l worker.Lease) error {
			return w.Store.Fail(ctx, l, worker.Failure{Code: job.FailureTarget})
		},
	}
}

func TestSupersededWorkerCanGiveNoVerdict(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, old := w.RunningJob()
		w.Expire(j.ID)
		w.Claim()
		before := w.Row(j.ID)
		for name, verdict := range w.verdicts() {
			require.ErrorIs(w, verdict(w.Context(), old), worker.ErrStale, name)
		}
		require.Equal(w, before, w.Row(j.ID))
	})
}

func TestVerdictNeedsRunningJobEvenWhereLeaseWasLeftBehind(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		w.MustExec(`ALTER TABLE etl_job_records DROP CONSTRAINT etl_job_records_lease_while_running`)
		j, lease := w.RunningJob()
		w.MustExec("UPDATE etl_job_records SET job_status = 'PENDING' WHERE job_record_id = $1", j.ID)
		before := w.Row(j.ID)
		for name, verdict := range w.verdicts() {
			require.ErrorIs(w, verdict(w.Context(), lease), worker.ErrStale, name)
		}
		require.Equal(w, before, w.Row(j.ID))
		w.RequireNoEffects(j.ID)
	})
}

func TestFenceNeedsRunningJobEvenWhereLeaseWasLeftBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.GatedLoad(t))
	w.MustExec(`ALTER TABLE etl_job_records DROP CONSTRAINT etl_job_records_lease_while_running`)
	w.MustExec(`DROP TRIGGER etl_job_records_success_needs_claim ON etl_job_records`)
	j, lease := w.RunningJob()
	open := w.CloseGate()
	execution := w.Execute(lease)
	w.WaitForLock() // the payload was read while the job was RUNNING
	w.MustExec("UPDATE etl_job_records SET job_status = 'PENDING' WHERE job_record_id = $1", j.ID)
	open()
	require.ErrorIs(t, (<-execution).Err, worker.ErrStale)
	w.RequireNoEffects(j.ID)
}

func TestLongPayloadIsNotEvenLoadedUnderStaleLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLoad(t, `SELECT 1 / 0 FROM (SELECT @records::jsonb) AS batch`)) // a load that is run fails
	superseded, old := w.SubmitLong(), w.Claim()
	w.Expire(superseded.ID)
	w.Claim()
	require.ErrorIs(t, w.Store.Execute(t.Context(), old), worker.ErrStale)

	expired, late := w.SubmitLong(), w.Claim()
	w.Expire(expired.ID)
	require.ErrorIs(t, w.Store.Execute(t.Context(), late), worker.ErrStale)
}

func TestLeaseExpiringWhileVerdictWaitsMakesItStale(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		for name, verdict := range w.verdicts() {
			j, lease := w.RunningJob()
			holding := w.Begin()
			_, err := holding.Exec(w.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR NO KEY UPDATE", j.ID)
			require.NoError(w, err)
			done := storetest.Async(func() (struct{}, error) { return struct{}{}, verdict(w.Context(), lease) })
			w.WaitForLock()
			// The lease ends after the verdict's transaction began, whose now() would still see it alive.
			_, err = holding.Exec(w.Context(), "UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1", j.ID)
			require.NoError(w, err)
			require.NoError(w, holding.Commit(w.Context()))
			require.ErrorIs(w, (<-done).Err, worker.ErrStale, name)
			require.Equal(w, job.StatusRunning, w.Get(j.ID).Status, name)
			w.RequireNoEffects(j.ID)
			_, err = w.Cancel(j, "k") // out of the way of the next claim
			require.NoError(w, err)
		}
	})
}

func TestClaimReadsTheClockAndNotTheStartOfItsTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claiming := w.Begin()
	_, err := claiming.Exec(t.Context(), "SELECT now()")
	require.NoError(t, err)
	running, _ := w.RunningJob()
	pending := w.Submit() // due after the transaction began, as is the other one
	w.MustExec("UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1", running.ID)

	rows, err := claiming.Query(t.Context(), claim.SQL, claim.Positional(storetest.ClaimArgs(10))...)
	require.NoError(t, err)
	leases, err := pgx.CollectRows(rows, postgres.ScanClaim)
	require.NoError(t, err)
	require.ElementsMatch(t, []uuid.UUID{running.ID, pending.ID}, storetest.LeasedIDs(worker.Claimed{Leases: leases}))
	require.NoError(t, claiming.Commit(t.Context()))
	require.Equal(t, 2, w.Count("etl_job_records WHERE lease_expires_at > created_at + interval '1 minute'"))
}

func TestFenceAndLedgerMeetTheLockTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLockTimeout(50*time.Millisecond))
	j, lease := w.RunningJob()
	ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	defer cancel()
	for _, lock := range []string{"NO KEY UPDATE", "UPDATE"} { // the fence waits for the first, the ledger row for the second
		holding := w.Begin()
		_, err := holding.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR "+lock, j.ID)
		require.NoError(t, err)
		err = w.Store.Execute(ctx, lease)
		storetest.RequireLoadError(t, job.FailureTargetUnavailable, true, err)
		storetest.RequireSQLState(t, "55P03", err)
		w.RequireNoEffects(j.ID)
		require.NoError(t, holding.Rollback(t.Context()))
	}
}

func TestLeaseIsHeldByItsClaimAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holds := func(l worker.Lease) bool {
		held, err := w.Store.Holds(t.Context(), l)
		require.NoError(t, err)
		return held
	}
	j, first := w.RunningJob()
	require.True(t, holds(first))
	w.Expire(j.ID)
	require.True(t, holds(first), "nobody else has it")
	second := w.Claim()
	require.False(t, holds(first))
	require.True(t, holds(second))
	_, err := w.Cancel(j, "k")
	require.NoError(t, err)
	require.False(t, holds(second))
}

func TestLineageTriggerWaitsForAnUndecidedSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	insert := func(source uuid.UUID) <-chan storetest.Result[struct{}] {
		return storetest.Async(func() (struct{}, error) {
			return struct{}{}, w.insertReplay(func(c map[string]any) { c["source"], c["root"] = source, source })
		})
	}
	source := w.Submit()
	cancelling := w.CancelInTransaction(source, job.Hash{})
	inserted := insert(source.ID)
	w.WaitForLock()
	require.NoError(t, cancelling.Commit(t.Context()))
	require.NoError(t, (<-inserted).Err)

	source = w.FailedJob()
	deleting := w.BeginAsAdmin()
	_, err := deleting.Exec(t.Context(), "DELETE FROM etl_job_records WHERE job_record_id = $1", source.ID)
	require.NoError(t, err)
	inserted = insert(source.ID)
	w.WaitForLock()
	require.NoError(t, deleting.Commit(t.Context()))
	storetest.RequireSQLState(t, "23001", (<-inserted).Err)
}

func TestEveryWriteIsScopedToItsOwnerEvenAmongTwins(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		other := job.OwnerOf("owner b")
		source := w.FailedJob()
		_, executed := w.RunningJob()
		_, retried := w.RunningJob()
		_, failed := w.RunningJob()
		cancelled, claimed := w.Submit(), w.Submit()
		w.Twins(other)
		w.MustExec(`UPDATE etl_job_records SET next_attempt_at = clock_timestamp() + interval '1 hour'
			WHERE principal_scope_hash = $1 AND job_status = 'PENDING'`, other[:]) // so that the claim is of the owner's own job
		twinRows := func() string {
			var text string
			require.NoError(w, w.Admin.QueryRow(w.Context(), `SELECT string_agg(r::text, E'\n' ORDER BY job_record_id)
				FROM etl_job_records AS r WHERE principal_scope_hash = $1`, other[:]).Scan(&text))
			return text
		}
		before := twinRows()

		require.NoError(w, w.Store.Execute(w.Context(), executed))
		require.NoError(w, w.Store.Retry(w.Context(), retried, worker.Return{Outcome: job.AttemptRetried, Delay: time.Hour}))
		require.NoError(w, w.Store.Fail(w.Context(), failed, worker.Failure{Code: job.FailureTarget}))
		_, err := w.Cancel(cancelled, "k")
		require.NoError(w, err)
		require.Equal(w, claimed.ID, w.Claim().JobID)
		_, err = w.Replay(source, "k")
		require.NoError(w, err)

		require.Equal(w, before, twinRows())
		require.Zero(w, w.Count("processed_data WHERE principal_scope_hash = $1", other[:]))
		require.Zero(w, w.Count("etl_idempotency_records WHERE principal_scope_hash = $1", other[:]))
	})
}

func TestOneTextHasAnotherHashForEachJobThatItCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		_, err := w.Cancel(w.Submit(), "the same text")
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.Count("(SELECT DISTINCT cancellation_key_hash FROM etl_job_records) AS hashes"))
}
