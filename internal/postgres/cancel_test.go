package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// The tests of the cancellation seed; docs/traceability.md maps its numbers to them. Races are in races_test.go.

func TestCancellingPendingJobPreventsLaterClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	accepted, err := w.cancel(j, "k")
	require.NoError(t, err)
	require.Equal(t, job.StatusCancelled, accepted.Job.Status)
	require.False(t, accepted.Replayed)
	require.Empty(t, w.claimAll(10).Leases)
}

func TestCancellingClearsPayloadAndLeaseAtomically(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	running, _ := w.running()
	pending := w.submit()
	for _, j := range []job.Job{pending, running} {
		accepted, err := w.cancel(j, "k")
		require.NoError(t, err)
		require.Equal(t, job.CancellationByOwner, accepted.Job.CancellationCode)
		require.Equal(t, accepted.Job, w.get(j.ID))
		require.Equal(t, 1, w.count(`etl_job_records WHERE job_record_id = $1 AND request_payload IS NULL
			AND lease_claim_id IS NULL AND lease_owner_id IS NULL AND lease_expires_at IS NULL
			AND octet_length(cancellation_key_hash) = 32 AND job_cancelled_at BETWEEN created_at AND clock_timestamp()`, j.ID))
	}
}

func TestRepeatedCancellationUnderSameKeyReplaysSameRepresentation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	first, err := w.cancel(j, "k")
	require.NoError(t, err)
	before := w.row(j.ID)
	second, err := w.cancel(j, "k")
	require.NoError(t, err)
	require.True(t, second.Replayed)
	require.Equal(t, first.Job, second.Job)
	require.Equal(t, before, w.row(j.ID))
}

func TestCancellationUnderAnotherKeyFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.cancelled()
	before := w.row(j.ID)
	_, err := w.cancel(j, "another key")
	problem := requireProblem(t, job.CodeCancellationKeyReused, err)
	require.Equal(t, j, *problem.Job)
	require.Equal(t, before, w.row(j.ID))
}

func TestOneCancellationKeyStandsForOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		accepted, err := w.cancel(w.submit(), "the same text")
		require.NoError(t, err)
		require.False(t, accepted.Replayed)
	}
}

func TestForeignOwnerCanNeitherObserveNorCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	before := w.row(j.ID)
	foreign := job.OwnerOf("owner b")
	_, err := w.service.Cancel(t.Context(), foreign, j.ID.String(), key(t, "k"))
	require.Nil(t, requireProblem(t, job.CodeJobNotFound, err).Job)
	_, err = w.service.Get(t.Context(), foreign, j.ID.String())
	requireProblem(t, job.CodeJobNotFound, err)
	_, err = w.service.Lineage(t.Context(), foreign, j.ID.String())
	requireProblem(t, job.CodeJobNotFound, err)
	_, err = w.service.LineagePage(t.Context(), foreign, j.ID.String(), job.PageRequest{Limit: 10})
	requireProblem(t, job.CodeJobNotFound, err)
	page, err := w.service.List(t.Context(), foreign, job.Filter{}, job.PageRequest{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Jobs)
	require.Equal(t, before, w.row(j.ID))
}

func TestCancellingRunningJobInvalidatesItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.running()
	accepted, err := w.cancel(j, "k")
	require.NoError(t, err)
	require.Equal(t, 1, accepted.Job.AttemptCount)
	require.ErrorIs(t, w.store.Execute(t.Context(), lease), worker.ErrStale)
	require.ErrorIs(t, w.store.Retry(t.Context(), lease, 0), worker.ErrStale)
	require.ErrorIs(t, w.store.Fail(t.Context(), lease, job.FailureTarget), worker.ErrStale)
	require.Equal(t, accepted.Job, w.get(j.ID))
	w.requireNoEffects(j.ID)
}

func TestTerminalJobsRefuseCancellationUnchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for code, j := range map[job.Code]job.Job{
		job.CodeAlreadySucceeded: w.succeeded(),
		job.CodeAlreadyFailed:    w.failed(),
	} {
		before := w.row(j.ID)
		_, err := w.cancel(j, "k")
		require.Equal(t, j, *requireProblem(t, code, err).Job)
		require.Equal(t, before, w.row(j.ID))
	}
}

func TestCancellationIsCountedExactlyOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	for range 3 {
		_, err := w.cancel(j, "k")
		require.NoError(t, err)
	}
	_, err := w.cancel(j, "another key")
	require.Error(t, err)
	require.Equal(t, map[job.Status]int{job.StatusCancelled: 1}, w.counter.ended)
	require.Equal(t, map[job.Operation]int{job.OperationCancel: 2}, w.counter.replayed)
}

func TestExpiredAndSupersededWorkersCannotOverwriteCancellation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, expired := w.running()
	w.expire(j.ID)
	superseding := w.claim()
	accepted, err := w.cancel(j, "k")
	require.NoError(t, err)
	for _, lease := range []worker.Lease{expired, superseding} {
		require.ErrorIs(t, w.store.Execute(t.Context(), lease), worker.ErrStale)
		require.ErrorIs(t, w.store.Retry(t.Context(), lease, 0), worker.ErrStale)
		require.ErrorIs(t, w.store.Fail(t.Context(), lease, job.FailureTarget), worker.ErrStale)
	}
	require.Equal(t, accepted.Job, w.get(j.ID))
	w.requireNoEffects(j.ID)
}

func TestCancellationNeedsKeyAndKnownJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.service.Cancel(t.Context(), w.owner, w.submit().ID.String(), job.Key{})
	requireProblem(t, job.CodeCancellationKeyRequired, err)
	for _, id := range []string{"", "nonsense", "00000000-0000-0000-0000-000000000000", "01A22814-33A5-7660-9B1F-5F3180BB6374"} {
		_, err = w.service.Cancel(t.Context(), w.owner, id, key(t, "k"))
		requireProblem(t, job.CodeJobNotFound, err)
	}
}
