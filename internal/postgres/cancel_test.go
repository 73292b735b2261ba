package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// The tests of the cancellation seed; docs/traceability.md maps its numbers to them. Races are in races_test.go.

func TestCancellingPendingJobPreventsLaterClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	accepted, err := w.Cancel(j, "k")
	require.NoError(t, err)
	require.Equal(t, job.StatusCancelled, accepted.Job.Status)
	require.False(t, accepted.Replayed)
	require.Empty(t, w.ClaimAll(10).Leases)
}

func TestCancellingClearsPayloadAndLeaseAtomically(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	running, _ := w.RunningJob()
	pending := w.Submit()
	for _, j := range []job.Job{pending, running} {
		accepted, err := w.Cancel(j, "k")
		require.NoError(t, err)
		require.Equal(t, job.CancellationByOwner, accepted.Job.CancellationCode)
		require.Equal(t, accepted.Job, w.Get(j.ID))
		require.Equal(t, 1, w.Count(`etl_job_records WHERE job_record_id = $1 AND request_payload IS NULL
			AND lease_claim_id IS NULL AND lease_owner_id IS NULL AND lease_expires_at IS NULL
			AND octet_length(cancellation_key_hash) = 32 AND job_cancelled_at BETWEEN created_at AND clock_timestamp()`, j.ID))
	}
}

func TestRepeatedCancellationUnderSameKeyReplaysSameRepresentation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	first, err := w.Cancel(j, "k")
	require.NoError(t, err)
	before := w.Row(j.ID)
	second, err := w.Cancel(j, "k")
	require.NoError(t, err)
	require.True(t, second.Replayed)
	require.Equal(t, first.Job, second.Job)
	require.Equal(t, before, w.Row(j.ID))
}

func TestCancellationUnderAnotherKeyFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.CancelledJob()
	before := w.Row(j.ID)
	_, err := w.Cancel(j, "another key")
	problem := storetest.RequireProblem(t, job.CodeCancellationKeyReused, err)
	require.Equal(t, j, *problem.Job)
	require.Equal(t, before, w.Row(j.ID))
}

func TestCancellationKeepsItsReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, reason := range []string{"wrong_batch", "superseded", job.CancellationByOwner} {
		j := w.Submit()
		first, err := w.CancelFor(reason, j, "k")
		require.NoError(t, err)
		require.Equal(t, reason, first.Job.CancellationCode)
		require.Equal(t, first.Job, w.Get(j.ID))
		again, err := w.CancelFor(reason, j, "k")
		require.NoError(t, err)
		require.Equal(t, job.Accepted{Job: first.Job, Replayed: true}, again)
	}
}

func TestCancellationKeyStandsForOneReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	_, err := w.CancelFor("wrong_batch", j, "k")
	require.NoError(t, err)
	before := w.Row(j.ID)
	_, err = w.CancelFor("superseded", j, "k")
	storetest.RequireProblem(t, job.CodeCancellationKeyReused, err)
	_, err = w.Cancel(j, "k") // which names none
	storetest.RequireProblem(t, job.CodeCancellationKeyReused, err)
	require.Equal(t, before, w.Row(j.ID))
}

func TestNoReasonIsThatOfTheOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.CancelledJob()
	for _, reason := range []string{job.CancellationByOwner, ""} {
		again, err := w.CancelFor(reason, j, "cancel")
		require.NoError(t, err)
		require.Equal(t, job.Accepted{Job: j, Replayed: true}, again)
	}
}

func TestReasonThatIsNotAllowedChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	before := w.Row(j.ID)
	for _, reason := range []string{"maintenance", " ", "WRONG_BATCH", "wrong_batch ", "because the file was wrong"} {
		_, err := w.CancelFor(reason, j, "k")
		problem := storetest.RequireProblem(t, job.CodeInvalidCancellationReason, err)
		require.Equal(t, []string{job.CancellationByOwner, "wrong_batch", "superseded"}, problem.Allowed)
	}
	require.Equal(t, before, w.Row(j.ID))
}

func TestOneCancellationKeyStandsForOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		accepted, err := w.Cancel(w.Submit(), "the same text")
		require.NoError(t, err)
		require.False(t, accepted.Replayed)
	}
}

func TestForeignOwnerCanNeitherObserveNorCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	before := w.Row(j.ID)
	foreign := job.OwnerOf("owner b")
	_, err := w.Service.Cancel(t.Context(), foreign, j.ID.String(), storetest.Key(t, "k"), "")
	require.Nil(t, storetest.RequireProblem(t, job.CodeJobNotFound, err).Job)
	_, err = w.Service.Get(t.Context(), foreign, j.ID.String())
	storetest.RequireProblem(t, job.CodeJobNotFound, err)
	_, err = w.Service.Lineage(t.Context(), foreign, j.ID.String())
	storetest.RequireProblem(t, job.CodeJobNotFound, err)
	_, err = w.Service.LineagePage(t.Context(), foreign, j.ID.String(), job.PageRequest{Limit: 10})
	storetest.RequireProblem(t, job.CodeJobNotFound, err)
	page, err := w.Service.List(t.Context(), foreign, job.Filter{}, job.PageRequest{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Jobs)
	require.Equal(t, before, w.Row(j.ID))
}

func TestCancellingRunningJobInvalidatesItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.RunningJob()
	accepted, err := w.Cancel(j, "k")
	require.NoError(t, err)
	require.Equal(t, 1, accepted.Job.AttemptCount)
	require.ErrorIs(t, w.Store.Execute(t.Context(), lease), worker.ErrStale)
	require.ErrorIs(t, w.Store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried}), worker.ErrStale)
	require.ErrorIs(t, w.Store.Fail(t.Context(), lease, worker.Failure{Code: job.FailureTarget}), worker.ErrStale)
	require.Equal(t, accepted.Job, w.Get(j.ID))
	w.RequireNoEffects(j.ID)
}

func TestTerminalJobsRefuseCancellationUnchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for code, j := range map[job.Code]job.Job{
		job.CodeAlreadySucceeded: w.SucceededJob(),
		job.CodeAlreadyFailed:    w.FailedJob(),
	} {
		before := w.Row(j.ID)
		_, err := w.Cancel(j, "k")
		require.Equal(t, j, *storetest.RequireProblem(t, code, err).Job)
		require.Equal(t, before, w.Row(j.ID))
	}
}

func TestCancellationIsCountedExactlyOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	for range 3 {
		_, err := w.Cancel(j, "k")
		require.NoError(t, err)
	}
	_, err := w.Cancel(j, "another key")
	require.Error(t, err)
	require.Equal(t, map[job.Status]int{job.StatusCancelled: 1}, w.Counter.Ended)
	require.Equal(t, map[job.Operation]int{job.OperationCancel: 2}, w.Counter.Replayed)
}

func TestExpiredAndSupersededWorkersCannotOverwriteCancellation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, expired := w.RunningJob()
	w.Expire(j.ID)
	superseding := w.Claim()
	accepted, err := w.Cancel(j, "k")
	require.NoError(t, err)
	for _, lease := range []worker.Lease{expired, superseding} {
		require.ErrorIs(t, w.Store.Execute(t.Context(), lease), worker.ErrStale)
		require.ErrorIs(t, w.Store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried}), worker.ErrStale)
		require.ErrorIs(t, w.Store.Fail(t.Context(), lease, worker.Failure{Code: job.FailureTarget}), worker.ErrStale)
	}
	require.Equal(t, accepted.Job, w.Get(j.ID))
	w.RequireNoEffects(j.ID)
}

func TestCancellationNeedsKeyAndKnownJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Service.Cancel(t.Context(), w.Owner, w.Submit().ID.String(), job.Key{}, "")
	storetest.RequireProblem(t, job.CodeCancellationKeyRequired, err)
	for _, id := range []string{"", "nonsense", "00000000-0000-0000-0000-000000000000", "01A22814-33A5-7660-9B1F-5F3180BB6374"} {
		_, err = w.Service.Cancel(t.Context(), w.Owner, id, storetest.Key(t, "k"), "")
		storetest.RequireProblem(t, job.CodeJobNotFound, err)
	}
}
