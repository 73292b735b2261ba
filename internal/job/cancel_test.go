package job_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

func TestAnActiveJobCanBeCancelledOnce(t *testing.T) {
	t.Parallel()
	for _, s := range []job.Status{job.StatusPending, job.StatusRunning} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			active := f.in(s)
			first, err := f.Cancel(t.Context(), f.owner, active.ID.String(), key("k"), "")
			require.NoError(t, err)
			assert.False(t, first.Replayed)
			assert.Equal(t, job.StatusCancelled, first.Job.Status)
			assert.Equal(t, job.CancellationByOwner, first.Job.CancellationCode)
			assert.False(t, first.Job.CancelledAt.Before(active.UpdatedAt))
			assert.Equal(t, active.AttemptCount, first.Job.AttemptCount)

			again, err := f.Cancel(t.Context(), f.owner, active.ID.String(), key("k"), "")
			require.NoError(t, err)
			assert.Equal(t, job.Accepted{Job: first.Job, Replayed: true}, again)
			assert.Equal(t, []job.Status{job.StatusCancelled}, f.ended)
			assert.Equal(t, []job.Operation{job.OperationCancel}, f.replayed)
		})
	}
}

func TestATerminalJobCannotBeCancelled(t *testing.T) {
	t.Parallel()
	for s, code := range map[job.Status]job.Code{
		job.StatusSucceeded: job.CodeAlreadySucceeded,
		job.StatusFailed:    job.CodeAlreadyFailed,
		job.StatusCancelled: job.CodeCancellationKeyReused,
	} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			terminal := f.in(s)
			f.ended = nil
			_, err := f.Cancel(t.Context(), f.owner, terminal.ID.String(), key("k"), "")
			requireRefusedWith(t, code, terminal, err)
			assert.Equal(t, terminal, f.get(terminal))
			assert.Empty(t, f.ended)
		})
	}
}

func TestACancellationNeedsAKeyBeforeItLooksForTheJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.Cancel(t.Context(), f.owner, "no job", job.Key{}, "")
	requireRefused(t, job.CodeCancellationKeyRequired, err)
}

func TestMalformedAbsentAndForeignJobsAreNotFoundAlike(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range f.strangers() {
		_, err := f.Cancel(t.Context(), f.owner, id, key("k"), "")
		requireRefused(t, job.CodeJobNotFound, err)
		_, err = f.Replay(t.Context(), f.owner, id, key("k"), batch)
		requireRefused(t, job.CodeJobNotFound, err)
		_, err = f.Get(t.Context(), f.owner, id)
		requireRefused(t, job.CodeJobNotFound, err)
		_, err = f.Lineage(t.Context(), f.owner, id)
		requireRefused(t, job.CodeJobNotFound, err)
		_, err = f.LineagePage(t.Context(), f.owner, id, job.PageRequest{Limit: 1})
		requireRefused(t, job.CodeJobNotFound, err)
	}
}

func TestACancellationOfAHeldJobIsInProgress(t *testing.T) {
	t.Parallel()
	f := newImpatientFixture(t)
	j := f.submit()
	f.hold(lockJob, j)
	_, err := f.Cancel(t.Context(), f.owner, j.ID.String(), key("k"), "")
	requireRefused(t, job.CodeCancellationInProgress, err)
	assert.Empty(t, f.ended)
}
