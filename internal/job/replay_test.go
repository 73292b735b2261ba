package job_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

func TestAFailedOrCancelledJobCanBeReplayed(t *testing.T) {
	t.Parallel()
	for _, s := range []job.Status{job.StatusFailed, job.StatusCancelled} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			source := f.in(s)
			accepted, err := f.Replay(t.Context(), f.owner, source.ID.String(), key("k"), batch)
			require.NoError(t, err)
			assert.False(t, accepted.Replayed)
			assert.Equal(t, job.Job{
				ID: accepted.Job.ID, Status: job.StatusPending, RecordCount: 1,
				Derivation: &job.Derivation{SourceID: source.ID, RootID: source.ID, Generation: 1},
				CreatedAt:  accepted.Job.CreatedAt, UpdatedAt: accepted.Job.UpdatedAt,
			}, accepted.Job)
			assert.Equal(t, source, f.get(source), "the source never changes")
			assert.Equal(t, []int{0, 1}, f.created)
		})
	}
}

func TestTheSameReplayReturnsTheSameJobInItsCurrentState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source := f.in(job.StatusFailed)
	first, err := f.Replay(t.Context(), f.owner, source.ID.String(), key("k"), batch)
	require.NoError(t, err)
	cancelled := f.cancel(first.Job)
	again, err := f.Replay(t.Context(), f.owner, source.ID.String(), key("k"), batch)
	require.NoError(t, err)
	assert.Equal(t, job.Accepted{Job: cancelled, Replayed: true}, again)
	assert.Equal(t, []job.Operation{job.OperationReplay}, f.replayed)
	assert.Equal(t, []int{0, 1}, f.created)
}

func TestAReplayKeyStandsForOneSourceAndExactBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source, other := f.in(job.StatusFailed), f.in(job.StatusFailed)
	first, err := f.Replay(t.Context(), f.owner, source.ID.String(), key("k"), batch)
	require.NoError(t, err)
	_, err = f.Replay(t.Context(), f.owner, source.ID.String(), key("k"), otherBatch)
	requireRefusedWith(t, job.CodeReplayKeyReused, first.Job, err)
	_, err = f.Replay(t.Context(), f.owner, other.ID.String(), key("k"), batch)
	requireRefusedWith(t, job.CodeReplayKeyReused, first.Job, err)
}

func TestAReplayNeedsTheSourcesExactBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source := f.in(job.StatusFailed)
	_, err := f.Replay(t.Context(), f.owner, source.ID.String(), key("k"), otherBatch)
	requireRefusedWith(t, job.CodeReplayPayloadMismatch, source, err)
	assert.Equal(t, []int{0}, f.created)
}

func TestAnActiveOrSucceededSourceCannotBeReplayedWhateverTheBytes(t *testing.T) {
	t.Parallel()
	for s, code := range map[job.Status]job.Code{
		job.StatusPending:   job.CodeReplaySourceActive,
		job.StatusRunning:   job.CodeReplaySourceActive,
		job.StatusSucceeded: job.CodeReplaySourceSucceeded,
	} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			source := f.in(s)
			for _, text := range [][]byte{batch, otherBatch} {
				_, err := f.Replay(t.Context(), f.owner, source.ID.String(), key("k"), text)
				requireRefusedWith(t, code, source, err)
			}
		})
	}
}

func TestGenerationsEndAt100(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.in(job.StatusCancelled)
	root := j
	for generation := range job.MaxGeneration {
		source := j
		j = f.cancel(f.replay(source))
		require.Equal(t, &job.Derivation{SourceID: source.ID, RootID: root.ID, Generation: generation + 1}, j.Derivation)
	}
	_, err := f.Replay(t.Context(), f.owner, j.ID.String(), key("k"), batch)
	requireRefusedWith(t, job.CodeReplayGenerationExhausted, j, err)
}

func TestAReplayOfAHeldSourceIsInProgress(t *testing.T) {
	t.Parallel()
	f := newImpatientFixture(t)
	source := f.in(job.StatusFailed)
	f.hold(lockJob, source)
	_, err := f.Replay(t.Context(), f.owner, source.ID.String(), key("k"), batch)
	requireRefused(t, job.CodeReplayInProgress, err)
}
