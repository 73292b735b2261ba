package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// executeLater is for gather.
func (w *world) executeLater(l worker.Lease) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, w.store.Execute(w.Context(), l) }
}

func TestExecutionsThatComeTogetherAreDecidedOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blocking := w.claimed()
	one, first := w.running()
	other, second := w.running()
	cancelled, revoked := w.running()
	_, err := w.cancel(cancelled, "k")
	require.NoError(t, err)
	results := gather(w, w.store.executions, w.executeLater(blocking), w.executeLater(first), w.executeLater(revoked),
		w.executeLater(second), w.executeLater(first))
	require.NoError(t, (<-results[0]).err)
	require.ErrorIs(t, (<-results[2]).err, worker.ErrStale)
	require.NoError(t, (<-results[3]).err)
	won, lost := (<-results[1]).err, (<-results[4]).err // which of the two it is does not matter
	if won != nil {
		won, lost = lost, won
	}
	require.NoError(t, won)
	require.Error(t, lost, "the lease of a job that has succeeded")
	for _, j := range []job.Job{one, other} {
		require.Equal(t, job.StatusSucceeded, w.get(j.ID).Status)
		w.requireEffectsOnce(j.ID)
	}
	w.requireNoEffects(cancelled.ID)
	w.requireBooksBalance()
}

func TestExecutionThatFailsFailsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blocking := w.claimed()
	executedBefore, bad := w.running()
	w.mustExec(`INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
		SELECT principal_scope_hash, job_record_id, request_digest, record_count FROM etl_job_records WHERE job_record_id = $1`, executedBefore.ID)
	j, lease := w.running()
	results := gather(w, w.store.executions, w.executeLater(blocking), w.executeLater(bad), w.executeLater(lease))
	require.NoError(t, (<-results[0]).err)
	requireLoadError(t, job.FailureIntegrity, false, (<-results[1]).err)
	require.NoError(t, (<-results[2]).err)
	w.requireEffectsOnce(j.ID)
	require.Equal(t, job.StatusRunning, w.get(executedBefore.ID).Status)
	require.Zero(t, w.count("processed_data WHERE job_record_id = $1", executedBefore.ID))
}

// claimed is running without the job.
func (w *world) claimed() worker.Lease {
	w.Helper()
	_, l := w.running()
	return l
}

// The guards of a single execution, each alone: what it refuses does not even reach the statement that refuses it again.
func TestGatheredExecutionTakesNoLeaseButTheExactLiveOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustExec(`ALTER TABLE etl_job_records DROP CONSTRAINT etl_job_records_lease_while_running`)
	w.mustExec(`DROP TRIGGER etl_job_records_success_needs_claim ON etl_job_records`)
	good, live := w.running()
	_, done := w.running()
	require.NoError(t, w.store.Execute(t.Context(), done))
	leftBehind, left := w.running()
	w.mustExec("UPDATE etl_job_records SET job_status = 'PENDING', next_attempt_at = 'infinity' WHERE job_record_id = $1", leftBehind.ID)
	taken, superseded := w.running()
	w.expire(taken.ID)
	w.claim()
	owned, foreign := w.running()
	foreign.Owner = job.OwnerOf("owner b")
	held, locked := w.running()
	late, expired := w.running()
	w.expire(late.ID)
	_, err := w.begin().Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR NO KEY UPDATE", held.ID)
	require.NoError(t, err)
	refused := []job.Job{leftBehind, taken, owned, held, late}
	before := w.rowsOf(refused)

	won, err := w.store.gatheredExecution(t.Context(), []worker.Lease{done, left, superseded, live, foreign, locked, expired})
	require.NoError(t, err)
	require.Equal(t, []placed[worker.Lease]{{live, 4}}, won)
	w.requireEffectsOnce(good.ID)
	require.Equal(t, before, w.rowsOf(refused))
	for _, j := range refused {
		w.requireNoEffects(j.ID)
	}
}

// rowsOf are those of jobs, in their order.
func (w *world) rowsOf(jobs []job.Job) (rows []string) {
	w.Helper()
	for _, j := range jobs {
		rows = append(rows, w.row(j.ID))
	}
	return rows
}

func TestGatheredExecutionReadsTheClockAndNotTheStartOfItsTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.running()
	executing := w.begin()
	_, err := executing.Exec(t.Context(), "SELECT now()")
	require.NoError(t, err)
	// The lease ends after the transaction began, whose now() would still see it alive.
	w.mustExec("UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1", j.ID)
	won, err := gatheredExecuteActor(lease).steps[0](t.Context(), executing)
	require.NoError(t, err)
	require.False(t, won)
	require.NoError(t, executing.Commit(t.Context()))
	w.requireNoEffects(j.ID)
}

func TestLockedJobKeepsNoOtherExecutionWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	locked, waits := w.running()
	free, goes := w.running()
	cancelling := w.cancelInTransaction(locked, make([]byte, 32))
	waiting := w.execute(waits)
	w.waitForLock() // alone, for the row
	require.NoError(t, w.store.Execute(t.Context(), goes))
	w.requireEffectsOnce(free.ID)

	require.NoError(t, cancelling.Commit(t.Context()))
	require.ErrorIs(t, (<-waiting).err, worker.ErrStale)
	w.requireNoEffects(locked.ID)
}

func TestExecutionThatIsGivenUpOnceItIsSentHappensAndIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.listen()
	j, lease := w.running()
	unlock := w.lockTable()
	leaving, leave := context.WithTimeout(t.Context(), time.Hour)
	execution := async(func() (struct{}, error) { return struct{}{}, w.store.Execute(leaving, lease) })
	w.waitForLock()
	leave()
	requireLoadError(t, job.FailureTargetUnavailable, true, (<-execution).err)
	unlock()
	for _, status := range []job.Status{job.StatusPending, job.StatusRunning, job.StatusSucceeded} {
		w.requireNotice(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: status})
	}
	w.requireEffectsOnce(j.ID)
}
