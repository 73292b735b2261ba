package postgres

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// The tests of the replay seed; docs/traceability.md maps its numbers to them. Races are in races_test.go.

func TestReplayingMakesDistinctPendingJobAndLeavesSourceUnchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for status, source := range map[job.Status]job.Job{
		job.StatusFailed:    w.failed(),
		job.StatusCancelled: w.cancelled(),
	} {
		before := w.row(source.ID)
		accepted, err := w.replay(source, "replay of "+string(status))
		require.NoError(t, err)
		require.False(t, accepted.Replayed)
		require.NotEqual(t, source.ID, accepted.Job.ID)
		require.Equal(t, job.StatusPending, accepted.Job.Status)
		require.Zero(t, accepted.Job.AttemptCount)
		require.Equal(t, source.RecordCount, accepted.Job.RecordCount)
		require.Equal(t, &job.Derivation{SourceID: source.ID, RootID: source.ID, Generation: 1}, accepted.Job.Derivation)
		require.Equal(t, before, w.row(source.ID))
		require.Equal(t, status, w.get(source.ID).Status)
	}
}

func TestReplayOfOtherBytesIsRefusedBeforeInsertion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	almost := append([]byte(" "), batch...)
	_, err := w.service.Replay(t.Context(), w.owner, source.ID.String(), key(t, "k"), almost)
	require.Equal(t, source, *requireProblem(t, job.CodeReplayPayloadMismatch, err).Job)
	require.Equal(t, 1, w.count("etl_job_records"))
}

func TestRepeatedReplayReturnsOneCreatedJobInItsCurrentState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	first, err := w.replay(source, "k")
	require.NoError(t, err)
	require.NoError(t, w.store.Execute(t.Context(), w.claim()))
	second, err := w.replay(source, "k")
	require.NoError(t, err)
	require.True(t, second.Replayed)
	require.Equal(t, first.Job.ID, second.Job.ID)
	require.Equal(t, job.StatusSucceeded, second.Job.Status)
	require.Equal(t, 2, w.count("etl_job_records"))
	require.Equal(t, map[int]int{0: 1, 1: 1}, w.counter.created)
	require.Equal(t, map[job.Operation]int{job.OperationReplay: 1}, w.counter.replayed)
}

func TestReplayKeyReusedForAnotherSourceOrPayloadFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, other := w.failed(), w.cancelled()
	first, err := w.replay(source, "k")
	require.NoError(t, err)
	_, err = w.replay(other, "k")
	require.Equal(t, first.Job, *requireProblem(t, job.CodeReplayKeyReused, err).Job)
	_, err = w.service.Replay(t.Context(), w.owner, source.ID.String(), key(t, "k"), []byte(`[{"id":"gamma"}]`))
	requireProblem(t, job.CodeReplayKeyReused, err)
	require.Equal(t, 3, w.count("etl_job_records"))
}

func TestForeignMissingAndMalformedSourcesAreIndistinguishable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	_, err := w.service.Replay(t.Context(), job.OwnerOf("owner b"), source.ID.String(), key(t, "k"), batch)
	foreign := requireProblem(t, job.CodeJobNotFound, err)
	for _, id := range []string{uuid.NewString(), "nonsense"} {
		_, err = w.service.Replay(t.Context(), w.owner, id, key(t, "k"), batch)
		require.Equal(t, foreign, requireProblem(t, job.CodeJobNotFound, err))
	}
}

func TestMissingSourceIsNotFoundEvenUnderUsedKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.replay(w.failed(), "k")
	require.NoError(t, err)
	for _, id := range []string{uuid.NewString(), "nonsense"} {
		_, err = w.service.Replay(t.Context(), w.owner, id, key(t, "k"), batch)
		requireProblem(t, job.CodeJobNotFound, err)
	}
}

func TestActiveAndSucceededSourcesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded := w.succeeded()
	running, _ := w.running()
	pending := w.submit()
	for code, sources := range map[job.Code][]job.Job{
		job.CodeReplaySourceActive:    {pending, running},
		job.CodeReplaySourceSucceeded: {succeeded},
	} {
		for _, source := range sources {
			before := w.row(source.ID)
			_, err := w.replay(source, "k")
			require.Equal(t, source, *requireProblem(t, code, err).Job)
			require.Equal(t, before, w.row(source.ID))
		}
	}
	require.Equal(t, 3, w.count("etl_job_records"))
}

func TestReplayOfReplayKeepsRootAndCountsGenerationsToOneHundred(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.cancelled()
	source := root
	for generation := 1; generation <= job.MaxGeneration; generation++ {
		accepted, err := w.replay(source, fmt.Sprint("replay ", generation))
		require.NoError(t, err)
		require.Equal(t, &job.Derivation{SourceID: source.ID, RootID: root.ID, Generation: generation}, accepted.Job.Derivation)
		cancelled, err := w.cancel(accepted.Job, "cancel")
		require.NoError(t, err)
		source = cancelled.Job
	}

	_, err := w.replay(source, "one too many")
	require.Equal(t, source, *requireProblem(t, job.CodeReplayGenerationExhausted, err).Job)

	_, err = w.service.Replay(t.Context(), w.owner, source.ID.String(), key(t, "one too many"), []byte(`[]`))
	requireProblem(t, job.CodeReplayPayloadMismatch, err)

	lineage, err := w.service.Lineage(t.Context(), w.owner, source.ID.String())
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
	accepted, err := w.replay(w.failed(), "k")
	require.NoError(t, err)
	lease := w.claim()
	require.Equal(t, accepted.Job.ID, lease.JobID)
	require.NoError(t, w.store.Retry(t.Context(), lease, 0))
	lease = w.claim()
	require.Equal(t, 2, lease.Attempt)
	require.NoError(t, w.store.Execute(t.Context(), lease))
	w.requireEffectsOnce(accepted.Job.ID)

	page, err := w.service.List(t.Context(), w.owner, job.Filter{}, job.PageRequest{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, accepted.Job.ID, page.Jobs[0].ID, "newest first")

	accepted, err = w.replay(w.cancelled(), "k2")
	require.NoError(t, err)
	cancelled, err := w.cancel(accepted.Job, "c")
	require.NoError(t, err)
	require.Equal(t, job.StatusCancelled, cancelled.Job.Status)
}

func TestReplayNeedsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.service.Replay(t.Context(), w.owner, w.failed().ID.String(), job.Key{}, batch)
	requireProblem(t, job.CodeReplayKeyRequired, err)
}

func TestOneTextIsThreeKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submitted, err := w.service.Submit(t.Context(), w.owner, key(t, "k"), batch)
	require.NoError(t, err)
	_, err = w.cancel(submitted.Job, "k")
	require.NoError(t, err)
	replayed, err := w.replay(submitted.Job, "k")
	require.NoError(t, err)
	require.False(t, replayed.Replayed)
	require.NotEqual(t, submitted.Job.ID, replayed.Job.ID)
}
