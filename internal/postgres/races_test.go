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

// Every row of the race table: two connections, explicit steps, no sleeping. The first to commit decides.

func (w *world) execute(l worker.Lease) <-chan result[struct{}] {
	return async(func() (struct{}, error) { return struct{}{}, w.store.Execute(w.Context(), l) })
}

func TestCancelBeforeSuccessRollsBackEffectsAndLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gatedLoad(t))
	j, lease := w.running()
	open := w.closeGate()
	execution := w.execute(lease)
	w.waitForLock() // the effects are written, and not yet committed

	accepted, err := w.cancel(j, "k") // and does not wait for the execution
	require.NoError(t, err)
	require.Equal(t, job.StatusCancelled, accepted.Job.Status)
	open()

	require.ErrorIs(t, (<-execution).err, worker.ErrStale)
	require.Equal(t, accepted.Job, w.get(j.ID))
	w.requireNoEffects(j.ID)
}

func TestCancelCommittingWhileSuccessWaitsRollsBackEffectsAndLedger(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.running()
		cancelling := w.cancelInTransaction(j, make([]byte, 32))

		execution := w.execute(lease)
		w.waitForLock() // the fence waits for the cancellation
		require.NoError(w, cancelling.Commit(w.Context()))

		require.ErrorIs(w, (<-execution).err, worker.ErrStale)
		require.Equal(w, job.StatusCancelled, w.get(j.ID).Status)
		w.requireNoEffects(j.ID)
	})
}

func TestCancelRollingBackWhileSuccessWaitsLetsSuccessWin(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.running()
		cancelling := w.cancelInTransaction(j, make([]byte, 32))

		execution := w.execute(lease)
		w.waitForLock()
		require.NoError(w, cancelling.Rollback(w.Context()))

		require.NoError(w, (<-execution).err)
		require.Equal(w, job.StatusSucceeded, w.get(j.ID).Status)
		w.requireEffectsOnce(j.ID)
	})
}

func TestLeaseExpiringWhileSuccessWaitsRollsBack(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.running()
		moving := w.begin() // holds the row while the lease runs out
		_, err := moving.Exec(w.Context(), `UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1`, j.ID)
		require.NoError(w, err)

		execution := w.execute(lease)
		w.waitForLock()
		require.NoError(w, moving.Commit(w.Context()))

		require.ErrorIs(w, (<-execution).err, worker.ErrStale)
		require.Equal(w, job.StatusRunning, w.get(j.ID).Status)
		w.requireNoEffects(j.ID)
	})
}

func TestLeaseExpiringDuringLoadRollsBackThoughTransactionBeganBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gatedLoad(t))
	j, lease := w.running()
	open := w.closeGate()
	execution := w.execute(lease)
	w.waitForLock()
	// The lease ends after the transaction began: now() would still see it alive, clock_timestamp() does not.
	w.mustExec("UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_record_id = $1", j.ID)
	open()

	require.ErrorIs(t, (<-execution).err, worker.ErrStale)
	w.requireNoEffects(j.ID)
}

func TestSuccessBeforeCancelIsStableConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.running()
	succeeding := w.begin()
	for _, step := range w.executeActor(lease).steps {
		matched, err := step(t.Context(), succeeding)
		require.NoError(t, err)
		require.True(t, matched)
	}

	cancellation := async(func() (job.Accepted, error) { return w.cancel(j, "k") })
	w.waitForLock() // the cancellation waits for the success
	require.NoError(t, succeeding.Commit(t.Context()))

	got := <-cancellation
	problem := requireProblem(t, job.CodeAlreadySucceeded, got.err)
	require.Equal(t, job.StatusSucceeded, problem.Job.Status)
	require.Equal(t, *problem.Job, w.get(j.ID))
	w.requireEffectsOnce(j.ID)
	require.Zero(t, w.counter.ended[job.StatusCancelled])
}

func TestConcurrentCancelsUnderOneKeyMakeOneTransition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	first := w.cancelInTransaction(j, cancelHash(w, j, "k"))

	second := async(func() (job.Accepted, error) { return w.cancel(j, "k") })
	w.waitForLock()
	require.NoError(t, first.Commit(t.Context()))

	got := <-second
	require.NoError(t, got.err)
	require.True(t, got.value.Replayed)
	require.Zero(t, w.counter.ended[job.StatusCancelled], "the second made no transition")
}

func TestConcurrentCancelsUnderTwoKeysLetOneWin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	first := w.cancelInTransaction(j, cancelHash(w, j, "k1"))

	second := async(func() (job.Accepted, error) { return w.cancel(j, "k2") })
	w.waitForLock()
	require.NoError(t, first.Commit(t.Context()))
	requireProblem(t, job.CodeCancellationKeyReused, (<-second).err)
}

// cancelInTransaction cancels a job in a transaction that is left undecided.
func (w *world) cancelInTransaction(j job.Job, keyHash []byte) pgx.Tx {
	w.Helper()
	tx := w.begin()
	_, err := tx.Exec(w.Context(), cancelSQL, w.owner[:], j.ID, keyHash, job.CancellationByOwner)
	require.NoError(w, err)
	return tx
}

// cancelHash is the hash that the core makes of a cancellation key.
func cancelHash(w *world, j job.Job, keyText string) []byte {
	w.Helper()
	spy := &keySpy{}
	_, err := job.NewService(spy, w.service.Limits(), w.counter).Cancel(w.Context(), w.owner, j.ID.String(), key(w, keyText))
	require.ErrorIs(w, err, errSpied)
	return spy.hash[:]
}

func TestReclaimedLeaseMakesOldWorkersSuccessStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gatedLoad(t))
	j, old := w.running()
	open := w.closeGate()
	execution := w.execute(old)
	w.waitForLock()
	w.expire(j.ID)
	current := w.claim()
	require.Equal(t, j.ID, current.JobID)
	require.NotEqual(t, old.ClaimID, current.ClaimID)
	require.Equal(t, 2, current.Attempt)
	open()

	require.ErrorIs(t, (<-execution).err, worker.ErrStale)
	w.requireNoEffects(j.ID)
	require.NoError(t, w.store.Execute(t.Context(), current))
	w.requireEffectsOnce(j.ID)
}

func TestCancelBeforeReclaimLeavesNothingToClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, _ := w.running()
	w.expire(j.ID)
	cancelling := w.cancelInTransaction(j, make([]byte, 32))
	require.Empty(t, w.claimAll(10), "a claim never waits for a held row")
	require.NoError(t, cancelling.Commit(t.Context()))
	require.Empty(t, w.claimAll(10))
	require.Equal(t, job.StatusCancelled, w.get(j.ID).Status)
}

func TestReclaimBeforeCancelIsCancelledAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, _ := w.running()
	w.expire(j.ID)
	claiming := w.begin()
	_, err := claiming.Exec(t.Context(), claimSQL, 10, uuid.New(), time.Minute, maxAttempts, job.FailureAttemptsExhausted, maxClaimedPayload)
	require.NoError(t, err)
	cancellation := async(func() (job.Accepted, error) { return w.cancel(j, "k") })
	w.waitForLock()
	require.NoError(t, claiming.Commit(t.Context()))
	got := <-cancellation
	require.NoError(t, got.err)
	require.Equal(t, 2, got.value.Job.AttemptCount)
	require.Equal(t, job.StatusCancelled, w.get(j.ID).Status)
}

func TestCancelBeforeRetryBySameWorkerIsFinal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, verdict := range []func(context.Context, worker.Lease) error{
		func(ctx context.Context, l worker.Lease) error { return w.store.Retry(ctx, l, 0) },
		func(ctx context.Context, l worker.Lease) error { return w.store.Fail(ctx, l, job.FailureTarget) },
	} {
		j, lease := w.running()
		cancelling := w.cancelInTransaction(j, make([]byte, 32))
		done := async(func() (struct{}, error) { return struct{}{}, verdict(t.Context(), lease) })
		w.waitForLock()
		require.NoError(t, cancelling.Commit(t.Context()))
		require.ErrorIs(t, (<-done).err, worker.ErrStale)
		require.Equal(t, job.StatusCancelled, w.get(j.ID).Status)
	}
}

func TestConcurrentReplaysUnderOneKeyMakeOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	first, tx := w.replayInTransaction(source, batch)
	second := async(func() (job.Accepted, error) { return w.replay(source, "k") })
	w.waitForLock() // the insert waits for the undecided key
	require.NoError(t, tx.Commit(t.Context()))
	got := <-second
	require.NoError(t, got.err)
	require.True(t, got.value.Replayed)
	require.Equal(t, first, got.value.Job.ID)
	require.Equal(t, 1, w.count("etl_job_records WHERE replay_source_job_record_id = $1", source.ID))
}

func TestConcurrentReplayThatRollsBackLetsTheOtherOneMakeTheJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	_, tx := w.replayInTransaction(source, batch)
	second := async(func() (job.Accepted, error) { return w.replay(source, "k") })
	w.waitForLock()
	require.NoError(t, tx.Rollback(t.Context()))
	got := <-second
	require.NoError(t, got.err)
	require.False(t, got.value.Replayed)
	require.Equal(t, 1, w.count("etl_job_records WHERE replay_source_job_record_id = $1", source.ID))
}

func TestReplayUnderOneKeyWithOtherBytesIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	_, tx := w.replayInTransaction(source, batch)
	require.NoError(t, tx.Commit(t.Context()))
	_, err := w.service.Replay(t.Context(), w.owner, source.ID.String(), key(t, "k"), []byte(`[]`))
	requireProblem(t, job.CodeReplayKeyReused, err)
	require.Equal(t, 1, w.count("etl_job_records WHERE replay_source_job_record_id = $1", source.ID))
}

func TestDeletingSourceBeforeReplayRefusesTheReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	deleting := w.beginAsAdmin()
	_, err := deleting.Exec(t.Context(), "DELETE FROM etl_job_records WHERE job_record_id = $1", source.ID)
	require.NoError(t, err)
	replaying := async(func() (job.Accepted, error) { return w.replay(source, "k") })
	w.waitForLock()
	require.NoError(t, deleting.Commit(t.Context()))
	requireProblem(t, job.CodeJobNotFound, (<-replaying).err)
	require.Zero(t, w.count("etl_job_records"))
}

func TestReplayBeforeDeletingSourceRefusesTheDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	_, tx := w.replayInTransaction(source, batch)
	deleting := async(func() (struct{}, error) {
		return struct{}{}, w.exec("DELETE FROM etl_job_records WHERE job_record_id = $1", source.ID)
	})
	w.waitForLock()
	require.NoError(t, tx.Commit(t.Context()))
	requireStillReferenced(t, (<-deleting).err)
	require.Equal(t, 2, w.count("etl_job_records"))
}

func TestCancelOfSourceCommittingWhileReplayWaitsMakesItReplayable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.submit()
	cancelling := w.cancelInTransaction(source, make([]byte, 32))
	// The source still looks PENDING to a new snapshot, so the replay is refused without waiting.
	_, err := w.replay(source, "k")
	requireProblem(t, job.CodeReplaySourceActive, err)
	require.NoError(t, cancelling.Commit(t.Context()))
	accepted, err := w.replay(source, "k")
	require.NoError(t, err)
	require.Equal(t, source.ID, accepted.Job.Derivation.SourceID)
}

// replayInTransaction makes a replay under the key "k" in a transaction that is left undecided.
func (w *world) replayInTransaction(source job.Job, payload []byte) (uuid.UUID, pgx.Tx) {
	w.Helper()
	spy := &keySpy{}
	_, err := job.NewService(spy, w.service.Limits(), w.counter).
		Replay(w.Context(), w.owner, source.ID.String(), key(w, "k"), payload)
	require.ErrorIs(w, err, errSpied)
	n := spy.newJob
	tx := w.begin()
	_, err = tx.Exec(w.Context(), replaySQL, n.Owner[:], source.ID, n.ID, n.KeyHash[:], n.Payload.Digest[:], n.Payload.Bytes, job.MaxGeneration)
	require.NoError(w, err)
	return n.ID, tx
}

func TestWritesThatMeetTheLockTimeoutAreInProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLockTimeout(50*time.Millisecond))
	source := w.cancelled()
	pending := w.submit()

	held := w.begin()
	_, err := held.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", pending.ID)
	require.NoError(t, err)
	_, err = w.cancel(pending, "k")
	requireProblem(t, job.CodeCancellationInProgress, err)

	_, replaying := w.replayInTransaction(source, batch)
	_, err = w.replay(source, "k")
	requireProblem(t, job.CodeReplayInProgress, err)
	require.NoError(t, replaying.Rollback(t.Context()))

	n := w.newJob("k", batch)
	_, err = held.Exec(t.Context(), submitSQL, n.Owner[:], n.ID, n.KeyHash[:], n.Payload.Digest[:], n.Payload.Bytes, n.Payload.RecordCount)
	require.NoError(t, err)
	_, err = w.service.Submit(t.Context(), w.owner, key(t, "k"), batch)
	requireProblem(t, job.CodeSubmissionInProgress, err)
}
