package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

func TestBacklogCountsWhatWaitsAndWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, worker.Backlog{}, w.backlog())

	w.Submit()
	w.Submit()
	w.Submit()
	w.Claim()
	w.Expire(w.Claim().JobID)
	w.MustExec(`UPDATE etl_job_records SET next_attempt_at = now() - interval '1 hour' WHERE job_status = 'PENDING'`)
	b := w.backlog()
	require.InDelta(t, time.Hour, b.OldestDue, float64(time.Minute))
	require.Equal(t, worker.Backlog{Pending: 1, Running: 2, Expired: 1, OldestDue: b.OldestDue}, b)
}

func TestJobThatWaitsForItsRetryIsNotDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Submit()
	require.NoError(t, w.Store.Retry(t.Context(), w.Claim(), worker.Return{Outcome: job.AttemptRetried, Delay: time.Hour}))
	require.Equal(t, worker.Backlog{Pending: 1}, w.backlog())
}

func TestBacklogOfDatabaseThatIsGoneIsUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.StorePool.Close()
	_, err := w.Store.Backlog(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, job.ErrNotFound)
}

func (w *world) backlog() worker.Backlog {
	w.Helper()
	b, err := w.Store.Backlog(w.Context())
	require.NoError(w, err)
	return b
}
