package postgres_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// The tests of the replay seed; docs/traceability.md maps its numbers to them. Races are in races_test.go.

func TestReplayingMakesDistinctPendingJobAndLeavesSourceUnchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for status, source := range map[job.Status]job.Job{
		job.StatusFailed:    w.FailedJob(),
		job.StatusCancelled: w.CancelledJob(),
	} {
		before := w.Row(source.ID)
		accepted, err := w.Replay(source, "replay of "+string(status))
		require.NoError(t, err)
		require.False(t, accepted.Replayed)
		require.NotEqual(t, source.ID, accepted.Job.ID)
		require.Equal(t, job.StatusPending, accepted.Job.Status)
		require.Zero(t, accepted.Job.AttemptCount)
		require.Equal(t, source.RecordCount, accepted.Job.RecordCount)
		require.Equal(t, &job.Derivation{SourceID: source.ID, RootID: source.ID, Generation: 1}, accepted.Job.Derivation)
		require.Equal(t, before, w.Row(source.ID))
		require.Equal(t, status, w.Get(source.ID).Status)
	}
}

func TestReplayOfOtherBytesIsRefusedBeforeInsertion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	almost := append([]byte(" "), storetest.Batch...)
	_, err := w.Service.Replay(t.Context(), w.Owner, source.ID.String(), storetest.Key(t, "k"), almost)
	require.Equal(t, source, *storetest.RequireProblem(t, job.CodeReplayPayloadMismatch, err).Job)
	require.Equal(t, 1, w.Count("etl_job_records"))
}

func TestRepeatedReplayReturnsOneCreatedJobInItsCurrentState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	first, err := w.Replay(source, "k")
	require.NoError(t, err)
	require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
	second, err := w.Replay(source, "k")
	require.NoError(t, err)
	require.True(t, second.Replayed)
	require.Equal(t, first.Job.ID, second.Job.ID)
	require.Equal(t, job.StatusSucceeded, second.Job.Status)
	require.Equal(t, 2, w.Count("etl_job_records"))
	require.Equal(t, map[int]int{0: 1, 1: 1}, w.Counter.Created)
	require.Equal(t, map[job.Operation]int{job.OperationReplay: 1}, w.Counter.Replayed)
}

func TestReplayKeyReusedForAnotherSourceOrPayloadFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, other := w.FailedJob(), w.CancelledJob()
	first, err := w.Replay(source, "k")
	require.NoError(t, err)
	_, err = w.Replay(other, "k")
	require.Equal(t, first.Job, *storetest.RequireProblem(t, job.CodeReplayKeyReused, err).Job)
	_, err = w.Service.Replay(t.Context(), w.Owner, source.ID.String(), storetest.Key(t, "k"), []byte(`[{"id":"gamma"}]`))
	storetest.RequireProblem(t, job.CodeReplayKeyReused, err)
	require.Equal(t, 3, w.Count("etl_job_records"))
}

func TestForeignMissingAndMalformedSourcesAreIndistinguishable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	_, err := w.Service.Replay(t.Context(), job.OwnerOf("owner b"), source.ID.String(), storetest.Key(t, "k"), storetest.Batch)
	foreign := storetest.RequireProblem(t, job.CodeJobNotFound, err)
	for _, id := range []string{uuid.NewString(), "nonsense"} {
		_, err = w.Service.Replay(t.Context(), w.Owner, id, storetest.Key(t, "k"), storetest.Batch)
		require.Equal(t, foreign, storetest.RequireProblem(t, job.CodeJobNotFound, err))
	}
}

func TestMissingSourceIsNotFoundEvenUnderUsedKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Replay(w.FailedJob(), "k")
	require.NoError(t, err)
	for _, id := range []string{uuid.NewString(), "nonsense"} {
		_, err = w.Service.Replay(t.Context(), w.Owner, id, storetest.Key(t, "k"), storetest.Batch)
		storetest.RequireProblem(t, job.CodeJobNotFound, err)
	}
}

func TestActiveAndSucceededSourcesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded := w.SucceededJob()
	running, _ := w.RunningJob()
	pending := w.Submit()
	for code, sources := range map[job.Code][]job.Job{
		job.CodeReplaySourceActive:    {pending, running},
		job.CodeReplaySourceSucceeded: {succeeded},
	} {
		for _, source := range sources {
			before := w.Row(source.ID)
			_, err := w.Replay(source, "k")
			require.Equal(t, source, *storetest.RequireProblem(t, code, err).Job)
			require.Equal(t, before, w.Row(source.ID))
		}
	}
	require.Equal(t, 3, w.Count("etl_job_records"))
}

func TestReplayOfReplayKeepsRootAndCountsGenerationsToOneHundred(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.CancelledJob()
	source := root
	for generation := 1; generation <= job.MaxGeneration; generation++ {
		accepted, err := w.Replay(source, fmt.Sprint("replay ", generation))
		require.NoError(t, err)
		require.Equal(t, &job.Derivation{SourceID: source.ID, RootID: root.ID, Generation: generation}, accepted.Job.Derivation)
		cancelled, err := w.Cancel(accepted.Job, "cancel")
		require.NoError(t, err)
		source = cancelled.Job
	}

	_, err := w.Replay(source, "one too many")
	require.Equal(t, source, *storetest.RequireProblem(t, job.CodeReplayGenerationExhausted, err).Job)

	_, err = w.Service.Replay(t.Context(), w.Owner, source.ID.String(), storetest.Key(t, "one too many"), []byte(`[]`))
	storetest.RequireProblem(t, job.CodeReplayPayloadMismatch, err)

	lineage, err := w.Service.Lineage(t.Context(), w.Owner, source.ID.String())
	require.NoError(t, err)
	require.Len(t, lineage.Ancestry, 101)
	require.Equal(t, lineage.Jobs, lineage.Ancestry)
	require.Equal(t, root, lineage.Root())
	for generation, j := range lineage.Ancestry {
		require.Equal(t, generation, j.Generation())
	}
	require.Equal(t, 101, lineage.GenerationCount)
	require.Equal(t, 101, lineage.JobCount())
}

func TestReplayedJobFollowsTheOrdinaryLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accepted, err := w.Replay(w.FailedJob(), "k")
	require.NoError(t, err)
	lease := w.Claim()
	require.Equal(t, accepted.Job.ID, lease.JobID)
	require.NoError(t, w.Store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried}))
	lease = w.Claim()
	require.Equal(t, 2, lease.Attempt)
	require.NoError(t, w.Store.Execute(t.Context(), lease))
	w.RequireEffectsOnce(accepted.Job.ID)

	page, err := w.Service.List(t.Context(), w.Owner, job.Filter{}, job.PageRequest{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, accepted.Job.ID, page.Jobs[0].ID, "newest first")

	accepted, err = w.Replay(w.CancelledJob(), "k2")
	require.NoError(t, err)
	cancelled, err := w.Cancel(accepted.Job, "c")
	require.NoError(t, err)
	require.Equal(t, job.StatusCancelled, cancelled.Job.Status)
}

func TestReplayNeedsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Service.Replay(t.Context(), w.Owner, w.FailedJob().ID.String(), job.Key{}, storetest.Batch)
	storetest.RequireProblem(t, job.CodeReplayKeyRequired, err)
}

func TestOneTextIsThreeKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submitted, err := w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), storetest.Batch)
	require.NoError(t, err)
	_, err = w.Cancel(submitted.Job, "k")
	require.NoError(t, err)
	replayed, err := w.Replay(submitted.Job, "k")
	require.NoError(t, err)
	require.False(t, replayed.Replayed)
	require.NotEqual(t, submitted.Job.ID, replayed.Job.ID)
}
