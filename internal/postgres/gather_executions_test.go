package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// executeLater is for gather.
func (w *world) executeLater(l worker.Lease) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, w.Store.Execute(w.Context(), l) }
}

func TestExecutionsThatComeTogetherAreDecidedOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blocking := w.claimed()
	one, first := w.RunningJob()
	other, second := w.RunningJob()
	cancelled, revoked := w.RunningJob()
	_, err := w.Cancel(cancelled, "k")
	require.NoError(t, err)
	results := gather(w, w.Store.WaitingExecutions, w.executeLater(blocking), w.executeLater(first), w.executeLater(revoked),
		w.executeLater(second), w.executeLater(first))
	require.NoError(t, (<-results[0]).Err)
	require.ErrorIs(t, (<-results[2]).Err, worker.ErrStale)
	require.NoError(t, (<-results[3]).Err)
	won, lost := (<-results[1]).Err, (<-results[4]).Err // which of the two it is does not matter
	if won != nil {
		won, lost = lost, won
	}
	require.NoError(t, won)
	require.Error(t, lost, "the lease of a job that has succeeded")
	for _, j := range []job.Job{one, other} {
		require.Equal(t, job.StatusSucceeded, w.Get(j.ID).Status)
		w.RequireEffectsOnce(j.ID)
	}
	w.RequireNoEffects(cancelled.ID)
	w.RequireBooksBalance()
}

func TestExecutionThatFailsFailsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blocking := w.claimed()
	executedBefore, bad := w.RunningJob()
	w.MustExec(`INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
		SELECT principal_scope_hash, job_record_id, request_digest, record_count FROM etl_job_records WHERE job_record_id = $1`, executedBefore.ID)
	j, lease := w.RunningJob()
	results := gather(w, w.Store.WaitingExecutions, w.executeLater(blocking), w.executeLater(bad), w.executeLater(lease))
	require.NoError(t, (<-results[0]).Err)
	storetest.RequireLoadError(t, job.FailureIntegrity, false, (<-results[1]).Err)
	require.NoError(t, (<-results[2]).Err)
	w.RequireEffectsOnce(j.ID)
	require.Equal(t, job.StatusRunning, w.Get(executedBefore.ID).Status)
	require.Zero(t, w.Count("processed_data WHERE job_record_id = $1", executedBefore.ID))
}

// claimed is running without the job.
func (w *world) claimed() worker.Lease {
	w.Helper()
	_, l := w.RunningJob()
	return l
}

// The guards of a single execution, each alone: what it refuses does not even reach the statement that refuses it again.
func TestSharedExecutionTakesNoLeaseButTheExactLiveOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.MustExec(`ALTER TABLE etl_job_records DROP CONSTRAINT etl_job_records_lease_while_running`)
	w.MustExec(`DROP TRIGGER etl_job_records_success_needs_claim ON etl_job_records`)
	good, live := w.RunningJob()
	_, done := w.RunningJob()
	require.NoError(t, w.Store.Execute(t.Context(), done))
	leftBehind, left := w.RunningJob()
	w.MustExec("UPDATE etl_job_records SET job_status = 'PENDING', next_attempt_at = 'infinity' WHERE job_record_id = $1", leftBehind.ID)
	taken, superseded := w.RunningJob()
	w.Expire(taken.ID)
	w.Claim()
	owned, foreign := w.RunningJob()
	foreign.Owner = job.OwnerOf("owner b")
	held, locked := w.RunningJob()
	late, expired := w.RunningJob()
	w.Expire(late.ID)
	_, err := w.Begin().Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR NO KEY UPDATE", held.ID)
	require.NoError(t, err)
	refused := []job.Job{leftBehind, taken, owned, held, late}
	before := w.rowsOf(refused)

	won, err := postgres.ShareExecution(w.Store, t.Context(), []worker.Lease{done, left, superseded, live, foreign, locked, expired})
	require.NoError(t, err)
	require.Equal(t, []batch.Placed[worker.Lease]{{Result: live, Place: 4}}, won)
	w.RequireEffectsOnce(good.ID)
	require.Equal(t, before, w.rowsOf(refused))
	for _, j := range refused {
		w.RequireNoEffects(j.ID)
	}
}

// rowsOf are those of jobs, in their order.
func (w *world) rowsOf(jobs []job.Job) (rows []string) {
	w.Helper()
	for _, j := range jobs {
		rows = append(rows, w.Row(j.ID))
	}
	return rows
}

func TestSharedExecutionReadsTheClockAndNotTheStartOfItsTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.RunningJob()
	executing := w.Begin()
	_, err := executing.Exec(t.Context(), "SELECT now()")
	require.NoError(t, err)
	// The lease ends after the transaction began, whose now() would still see it alive.
	w.MustExec("UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1", j.ID)
	done, err := storetest.Send(t.Context(), executing, "execute", storetest.ExecuteArgs(lease))
	require.NoError(t, err)
	require.Zero(t, done.RowsAffected())
	require.NoError(t, executing.Commit(t.Context()))
	w.RequireNoEffects(j.ID)
}

func TestLockedJobKeepsNoOtherExecutionWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	locked, waits := w.RunningJob()
	free, goes := w.RunningJob()
	cancelling := w.CancelInTransaction(locked, job.Hash{})
	waiting := w.Execute(waits)
	w.WaitForLock() // alone, for the row
	require.NoError(t, w.Store.Execute(t.Context(), goes))
	w.RequireEffectsOnce(free.ID)

	require.NoError(t, cancelling.Commit(t.Context()))
	require.ErrorIs(t, (<-waiting).Err, worker.ErrStale)
	w.RequireNoEffects(locked.ID)
}

func TestExecutionThatIsGivenUpOnceItIsSentHappensAndIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.Listen()
	j, lease := w.RunningJob()
	unlock := w.lockTable()
	leaving, leave := context.WithTimeout(t.Context(), time.Hour)
	execution := storetest.Async(func() (struct{}, error) { return struct{}{}, w.Store.Execute(leaving, lease) })
	w.WaitForLock()
	leave()
	storetest.RequireLoadError(t, job.FailureTargetUnavailable, true, (<-execution).Err)
	unlock()
	for _, status := range []job.Status{job.StatusPending, job.StatusRunning, job.StatusSucceeded} {
		w.RequireNotices(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: status})
	}
	w.RequireEffectsOnce(j.ID)
}
