package races

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// Every row of the race table: two connections, explicit steps, no sleeping. The first to commit decides.

func TestCancelBeforeSuccessRollsBackEffectsAndLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.GatedLoad(t))
	j, lease := w.RunningJob()
	open := w.CloseGate()
	execution := w.Execute(lease)
	w.WaitForLock() // the effects are written, and not yet committed

	accepted, err := w.Cancel(j, "k") // and does not wait for the execution
	require.NoError(t, err)
	require.Equal(t, job.StatusCancelled, accepted.Job.Status)
	open()

	require.ErrorIs(t, (<-execution).Err, worker.ErrStale)
	require.Equal(t, accepted.Job, w.Get(j.ID))
	w.RequireNoEffects(j.ID)
}

func TestCancelCommittingWhileSuccessWaitsRollsBackEffectsAndLedger(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.RunningJob()
		cancelling := w.CancelInTransaction(j, job.Hash{})

		execution := w.Execute(lease)
		w.WaitForLock() // the fence waits for the cancellation
		require.NoError(w, cancelling.Commit(w.Context()))

		require.ErrorIs(w, (<-execution).Err, worker.ErrStale)
		require.Equal(w, job.StatusCancelled, w.Get(j.ID).Status)
		w.RequireNoEffects(j.ID)
	})
}

func TestCancelRollingBackWhileSuccessWaitsLetsSuccessWin(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.RunningJob()
		cancelling := w.CancelInTransaction(j, job.Hash{})

		execution := w.Execute(lease)
		w.WaitForLock()
		require.NoError(w, cancelling.Rollback(w.Context()))

		require.NoError(w, (<-execution).Err)
		require.Equal(w, job.StatusSucceeded, w.Get(j.ID).Status)
		w.RequireEffectsOnce(j.ID)
	})
}

func TestLeaseExpiringWhileSuccessWaitsRollsBack(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.RunningJob()
		moving := w.Begin() // holds the row while the lease runs out
		_, err := moving.Exec(w.Context(), `UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1`, j.ID)
		require.NoError(w, err)

		execution := w.Execute(lease)
		w.WaitForLock()
		require.NoError(w, moving.Commit(w.Context()))

		require.ErrorIs(w, (<-execution).Err, worker.ErrStale)
		require.Equal(w, job.StatusRunning, w.Get(j.ID).Status)
		w.RequireNoEffects(j.ID)
	})
}

func TestLeaseExpiringDuringLoadRollsBackThoughTransactionBeganBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.GatedLoad(t))
	j, lease := w.RunningJob()
	open := w.CloseGate()
	execution := w.Execute(lease)
	w.WaitForLock()
	// The lease ends after the transaction began: now() would still see it alive, clock_timestamp() does not.
	w.MustExec("UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1", j.ID)
	open()

	require.ErrorIs(t, (<-execution).Err, worker.ErrStale)
	w.RequireNoEffects(j.ID)
}

func TestSuccessBeforeCancelIsStableConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.RunningJob()
	succeeding := w.Begin()
	for _, step := range executeActor(lease).steps {
		matched, err := step(t.Context(), succeeding)
		require.NoError(t, err)
		require.True(t, matched)
	}

	cancellation := storetest.Async(func() (job.Accepted, error) { return w.Cancel(j, "k") })
	w.WaitForLock() // the cancellation waits for the success
	require.NoError(t, succeeding.Commit(t.Context()))

	got := <-cancellation
	problem := storetest.RequireProblem(t, job.CodeAlreadySucceeded, got.Err)
	require.Equal(t, job.StatusSucceeded, problem.Job.Status)
	require.Equal(t, *problem.Job, w.Get(j.ID))
	w.RequireEffectsOnce(j.ID)
	require.Zero(t, w.Counter.Ended[job.StatusCancelled])
}

func TestConcurrentCancelsUnderOneKeyMakeOneTransition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	first := w.CancelInTransaction(j, w.CancelHash(j, "k"))

	second := storetest.Async(func() (job.Accepted, error) { return w.Cancel(j, "k") })
	w.WaitForLock()
	require.NoError(t, first.Commit(t.Context()))

	got := <-second
	require.NoError(t, got.Err)
	require.True(t, got.Value.Replayed)
	require.Zero(t, w.Counter.Ended[job.StatusCancelled], "the second made no transition")
}

func TestConcurrentCancelsUnderTwoKeysLetOneWin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	first := w.CancelInTransaction(j, w.CancelHash(j, "k1"))

	second := storetest.Async(func() (job.Accepted, error) { return w.Cancel(j, "k2") })
	w.WaitForLock()
	require.NoError(t, first.Commit(t.Context()))
	storetest.RequireProblem(t, job.CodeCancellationKeyReused, (<-second).Err)
}

func TestConcurrentCancelsForTwoReasonsLetOneWin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	first := w.CancelInTransaction(j, w.CancelHash(j, "k")) // for none

	second := storetest.Async(func() (job.Accepted, error) { return w.CancelFor("wrong_batch", j, "k") })
	w.WaitForLock()
	require.NoError(t, first.Commit(t.Context()))
	problem := storetest.RequireProblem(t, job.CodeCancellationKeyReused, (<-second).Err)
	require.Equal(t, job.CancellationByOwner, problem.Job.CancellationCode)
}

func TestReclaimedLeaseMakesOldWorkersSuccessStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.GatedLoad(t))
	j, old := w.RunningJob()
	open := w.CloseGate()
	execution := w.Execute(old)
	w.WaitForLock()
	w.Expire(j.ID)
	current := w.Claim()
	require.Equal(t, j.ID, current.JobID)
	require.NotEqual(t, old.ClaimID, current.ClaimID)
	require.Equal(t, 2, current.Attempt)
	open()

	require.ErrorIs(t, (<-execution).Err, worker.ErrStale)
	w.RequireNoEffects(j.ID)
	require.NoError(t, w.Store.Execute(t.Context(), current))
	w.RequireEffectsOnce(j.ID)
}

func TestCancelBeforeReclaimLeavesNothingToClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, _ := w.RunningJob()
	w.Expire(j.ID)
	cancelling := w.CancelInTransaction(j, job.Hash{})
	require.Empty(t, w.ClaimAll(10), "a claim never waits for a held row")
	require.NoError(t, cancelling.Commit(t.Context()))
	require.Empty(t, w.ClaimAll(10))
	require.Equal(t, job.StatusCancelled, w.Get(j.ID).Status)
}

func TestReclaimBeforeCancelIsCancelledAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, _ := w.RunningJob()
	w.Expire(j.ID)
	claiming := w.Begin()
	w.Send(claiming, "claim", storetest.ClaimArgs(10))
	cancellation := storetest.Async(func() (job.Accepted, error) { return w.Cancel(j, "k") })
	w.WaitForLock()
	require.NoError(t, claiming.Commit(t.Context()))
	got := <-cancellation
	require.NoError(t, got.Err)
	require.Equal(t, 2, got.Value.Job.AttemptCount)
	require.Equal(t, job.StatusCancelled, w.Get(j.ID).Status)
}

func TestCancelBeforeRetryBySameWorkerIsFinal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, verdict := range []func(context.Context, worker.Lease) error{
		func(ctx context.Context, l worker.Lease) error {
			return w.Store.Retry(ctx, l, worker.Return{Outcome: job.AttemptRetried})
		},
		func(ctx context.Context, l worker.Lease) error {
			return w.Store.Fail(ctx, l, worker.Failure{Code: job.FailureTarget})
		},
	} {
		j, lease := w.RunningJob()
		cancelling := w.CancelInTransaction(j, job.Hash{})
		done := storetest.Async(func() (struct{}, error) { return struct{}{}, verdict(t.Context(), lease) })
		w.WaitForLock()
		require.NoError(t, cancelling.Commit(t.Context()))
		require.ErrorIs(t, (<-done).Err, worker.ErrStale)
		require.Equal(t, job.StatusCancelled, w.Get(j.ID).Status)
	}
}

func TestConcurrentReplaysUnderOneKeyMakeOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	first, tx := w.ReplayInTransaction(source)
	second := storetest.Async(func() (job.Accepted, error) { return w.Replay(source, "k") })
	w.WaitForLock() // the insert waits for the undecided key
	require.NoError(t, tx.Commit(t.Context()))
	got := <-second
	require.NoError(t, got.Err)
	require.True(t, got.Value.Replayed)
	require.Equal(t, first, got.Value.Job.ID)
	require.Equal(t, 1, w.Count("etl_job_records WHERE replay_source_job_record_id = $1", source.ID))
}

func TestConcurrentReplayThatRollsBackLetsTheOtherOneMakeTheJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	_, tx := w.ReplayInTransaction(source)
	second := storetest.Async(func() (job.Accepted, error) { return w.Replay(source, "k") })
	w.WaitForLock()
	require.NoError(t, tx.Rollback(t.Context()))
	got := <-second
	require.NoError(t, got.Err)
	require.False(t, got.Value.Replayed)
	require.Equal(t, 1, w.Count("etl_job_records WHERE replay_source_job_record_id = $1", source.ID))
}

func TestReplayUnderOneKeyWithOtherBytesIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	_, tx := w.ReplayInTransaction(source)
	require.NoError(t, tx.Commit(t.Context()))
	_, err := w.Service.Replay(t.Context(), w.Owner, source.ID.String(), storetest.Key(t, "k"), []byte(`[]`))
	storetest.RequireProblem(t, job.CodeReplayKeyReused, err)
	require.Equal(t, 1, w.Count("etl_job_records WHERE replay_source_job_record_id = $1", source.ID))
}

func TestDeletingSourceBeforeReplayRefusesTheReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	deleting := w.BeginAsAdmin()
	_, err := deleting.Exec(t.Context(), "DELETE FROM etl_job_records WHERE job_record_id = $1", source.ID)
	require.NoError(t, err)
	replaying := storetest.Async(func() (job.Accepted, error) { return w.Replay(source, "k") })
	w.WaitForLock()
	require.NoError(t, deleting.Commit(t.Context()))
	storetest.RequireProblem(t, job.CodeJobNotFound, (<-replaying).Err)
	require.Zero(t, w.Count("etl_job_records"))
}

func TestReplayBeforeDeletingSourceRefusesTheDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	_, tx := w.ReplayInTransaction(source)
	deleting := storetest.Async(func() (struct{}, error) {
		return struct{}{}, w.Exec("DELETE FROM etl_job_records WHERE job_record_id = $1", source.ID)
	})
	w.WaitForLock()
	require.NoError(t, tx.Commit(t.Context()))
	storetest.RequireStillReferenced(t, (<-deleting).Err)
	require.Equal(t, 2, w.Count("etl_job_records"))
}

func TestCancelOfSourceCommittingWhileReplayWaitsMakesItReplayable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.Submit()
	cancelling := w.CancelInTransaction(source, job.Hash{})
	// The source still looks PENDING to a new snapshot, so the replay is refused without waiting.
	_, err := w.Replay(source, "k")
	storetest.RequireProblem(t, job.CodeReplaySourceActive, err)
	require.NoError(t, cancelling.Commit(t.Context()))
	accepted, err := w.Replay(source, "k")
	require.NoError(t, err)
	require.Equal(t, source.ID, accepted.Job.SourceID)
}

func TestWritesThatMeetTheLockTimeoutAreInProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLockTimeout(50*time.Millisecond))
	source := w.CancelledJob()
	pending := w.Submit()

	held := w.Begin()
	_, err := held.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", pending.ID)
	require.NoError(t, err)
	_, err = w.Cancel(pending, "k")
	storetest.RequireProblem(t, job.CodeCancellationInProgress, err)

	_, replaying := w.ReplayInTransaction(source)
	_, err = w.Replay(source, "k")
	storetest.RequireProblem(t, job.CodeReplayInProgress, err)
	require.NoError(t, replaying.Rollback(t.Context()))

	n := w.NewJob("k", storetest.Batch)
	w.Send(held, "submit", storetest.SubmitArgs(n))
	_, err = w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), storetest.Batch)
	storetest.RequireProblem(t, job.CodeSubmissionInProgress, err)
}

func TestReturnOfAJobMeetsTheLockTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLockTimeout(50*time.Millisecond))
	running, lease := w.RunningJob()
	held := w.Begin()
	_, err := held.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", running.ID)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	defer cancel()
	require.ErrorIs(t, w.Store.Retry(ctx, lease, worker.Return{Outcome: job.AttemptRetried}), job.ErrBusy)
}
