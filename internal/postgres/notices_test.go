package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/worker"
)

func TestEveryTransitionIsNoticedWithItsLineage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.Listen()
	expect := func(j job.Job, status job.Status) {
		t.Helper()
		w.RequireNotices(notices, worker.Notice{JobID: j.ID, RootID: j.RootID(), Status: status})
	}
	j := w.Submit()
	expect(j, job.StatusPending)
	require.NoError(t, w.Store.Retry(t.Context(), w.Claim(), worker.Return{Outcome: job.AttemptRetried}))
	expect(j, job.StatusRunning)
	expect(j, job.StatusPending)
	require.NoError(t, w.Store.Fail(t.Context(), w.Claim(), worker.Failure{Code: job.FailureTarget}))
	expect(j, job.StatusRunning)
	expect(j, job.StatusFailed)
	replay, err := w.Replay(j, "k")
	require.NoError(t, err)
	expect(replay.Job, job.StatusPending)
	require.NoError(t, w.Store.Retry(t.Context(), w.Claim(), worker.Return{Outcome: job.AttemptRetried, Delay: time.Hour}))
	expect(replay.Job, job.StatusRunning)
	expect(replay.Job, job.StatusPending)
	_, err = w.Cancel(replay.Job, "k")
	require.NoError(t, err)
	expect(replay.Job, job.StatusCancelled)
	succeeded := w.SucceededJob()
	expect(succeeded, job.StatusPending)
	expect(succeeded, job.StatusRunning)
	expect(succeeded, job.StatusSucceeded)
	exhausted, _ := w.RunningJob()
	expect(exhausted, job.StatusPending)
	expect(exhausted, job.StatusRunning)
	w.MustExec("UPDATE etl_job_records SET attempt_count = 99, fault_count = 98 WHERE job_record_id = $1", exhausted.ID)
	w.Expire(exhausted.ID)
	w.ClaimAll(1)
	expect(exhausted, job.StatusFailed)
}

func TestListenerCanConnectInAnotherWayThanThePool(t *testing.T) {
	t.Parallel()
	elsewhere := newWorld(t) // a database of its own stands for a way of its own
	listen, err := db.ParseListen(pgtest.Direct(elsewhere.URL))
	require.NoError(t, err)
	w := newWorld(t, func(c *postgres.Config) { c.Listen = listen })
	notices := w.Listen()
	w.Submit()
	j := elsewhere.Submit()
	w.RequireNotices(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusPending})
}
