package job_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

func TestASubmissionBecomesAPendingRoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := f.now()
	accepted, err := f.Submit(t.Context(), f.owner, key("k"), batch)
	require.NoError(t, err)
	assert.False(t, accepted.Replayed)
	assert.False(t, accepted.Job.CreatedAt.Before(before))
	assert.False(t, accepted.Job.CreatedAt.After(f.now()))
	assert.Equal(t, job.Job{
		ID: accepted.Job.ID, Status: job.StatusPending, RecordCount: 1,
		CreatedAt: accepted.Job.CreatedAt, UpdatedAt: accepted.Job.UpdatedAt,
	}, accepted.Job)
	assert.Equal(t, accepted.Job, f.get(accepted.Job))
	assert.Equal(t, []int{0}, f.created)
	assert.Empty(t, f.replayed)
}

func TestTheSameSubmissionReturnsTheSameJobInItsCurrentState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, err := f.Submit(t.Context(), f.owner, key("k"), batch)
	require.NoError(t, err)
	cancelled := f.cancel(first.Job)
	again, err := f.Submit(t.Context(), f.owner, key("k"), batch)
	require.NoError(t, err)
	assert.Equal(t, job.Accepted{Job: cancelled, Replayed: true}, again)
	assert.Equal(t, []int{0}, f.created)
	assert.Equal(t, []job.Operation{job.OperationSubmit}, f.replayed)
}

func TestASubmissionKeyStandsForExactBytesOfOneOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, err := f.Submit(t.Context(), f.owner, key("k"), batch)
	require.NoError(t, err)
	_, err = f.Submit(t.Context(), f.owner, key("k"), otherBatch)
	requireRefusedWith(t, job.CodeSubmissionKeyReused, first.Job, err)

	foreign, err := f.Submit(t.Context(), job.OwnerOf("bob"), key("k"), otherBatch)
	require.NoError(t, err)
	assert.NotEqual(t, first.Job.ID, foreign.Job.ID)
	assert.False(t, foreign.Replayed)
}

func TestIntakeChecksSizeThenKeyThenPayload(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	full := append(bytes.Repeat([]byte(" "), f.Limits().MaxPayloadBytes-2), "[]"...)
	tooLarge := append([]byte(" "), full...)
	source := f.in(job.StatusFailed).ID.String()
	for _, text := range []string{"", "k"} {
		_, err := f.Submit(t.Context(), f.owner, key(text), tooLarge)
		requireRefused(t, job.CodePayloadTooLarge, err)
		_, err = f.Replay(t.Context(), f.owner, source, key(text), tooLarge)
		requireRefused(t, job.CodePayloadTooLarge, err)
	}
	_, err := f.Submit(t.Context(), f.owner, job.Key{}, []byte("["))
	requireRefused(t, job.CodeSubmissionKeyRequired, err)
	_, err = f.Replay(t.Context(), f.owner, source, job.Key{}, []byte("["))
	requireRefused(t, job.CodeReplayKeyRequired, err)
	_, err = f.Submit(t.Context(), f.owner, key("k"), []byte("["))
	requireRefused(t, job.CodeInvalidJSON, err)
	_, err = f.Replay(t.Context(), f.owner, "no job", key("k"), []byte("[{}]"))
	requireRefused(t, job.CodeInvalidRecord, err)
	_, err = f.Submit(t.Context(), f.owner, key("k"), full)
	require.NoError(t, err)
}

func TestAnUndecidedSubmissionUnderTheSameKeyIsInProgress(t *testing.T) {
	t.Parallel()
	f := newImpatientFixture(t)
	first, err := f.Submit(t.Context(), f.owner, key("k"), batch)
	require.NoError(t, err)
	f.hold(deleteJob, first.Job)
	_, err = f.Submit(t.Context(), f.owner, key("k"), batch)
	requireRefused(t, job.CodeSubmissionInProgress, err)
}

func TestTheCallersOwnCancellationIsNoRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := f.Submit(ctx, f.owner, key("k"), batch)
	require.ErrorIs(t, err, context.Canceled)
	_, err = f.Get(ctx, f.owner, "")
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheSameTextIsThreeKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	submitted, err := f.Submit(t.Context(), f.owner, key("k"), batch)
	require.NoError(t, err)
	cancelled, err := f.Cancel(t.Context(), f.owner, submitted.Job.ID.String(), key("k"), "")
	require.NoError(t, err)
	replayed, err := f.Replay(t.Context(), f.owner, submitted.Job.ID.String(), key("k"), batch)
	require.NoError(t, err)
	for _, accepted := range []job.Accepted{submitted, cancelled, replayed} {
		assert.False(t, accepted.Replayed)
	}
	assert.NotEqual(t, submitted.Job.ID, replayed.Job.ID)
}
