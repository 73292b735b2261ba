package worker_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/worker"
)

// disconnected is a store whose pool is closed.
func disconnected(t *testing.T) *postgres.Store {
	t.Helper()
	pool := pgtest.Pool(t)
	store := postgres.NewStore(pool, postgres.Config{LockTimeout: patience, CallTimeout: patience})
	pool.Close()
	t.Cleanup(store.Close)
	return store
}

// losing is a queue whose first claims find the database lost.
type losing struct {
	worker.Queue
	lost   worker.Queue
	losses int32
	claims atomic.Int32
}

func (l *losing) Claim(ctx context.Context, r worker.ClaimRequest) (worker.Claimed, error) {
	if l.claims.Add(1) <= l.losses {
		return l.lost.Claim(ctx, r)
	}
	return l.Queue.Claim(ctx, r)
}

func TestNoticeOfASubmissionWakesTheClaimer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.run(b.store)
	require.Equal(t, worker.OutcomeIdle, next(t, b.observed.outcomes))
	listening := make(chan struct{})
	go b.store.Listen(t.Context(), func(n worker.Notice) {
		if n == (worker.Notice{}) {
			close(listening)
			return
		}
		b.worker.Notify(n)
	})
	next(t, listening)
	b.submit()

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
}

func TestWorkerFindsJobsByPollingToo(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.config.PollInterval = 10 * time.Millisecond
	b.run(b.store)
	require.Equal(t, worker.OutcomeIdle, next(t, b.observed.outcomes))
	b.submit()

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
}

func TestWorkerLeasesNoMoreThanItCanRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	b.config.Workers = 1
	g := b.closeGate()
	first, second := b.submit(), b.submit()
	b.run(b.store)
	g.await(1)
	require.Equal(t, []worker.Outcome{worker.OutcomeClaimed}, drained(b.observed.outcomes))
	b.worker.Notify(worker.Notice{JobID: second, Status: job.StatusPending})
	require.Equal(t, job.StatusRunning, b.job(first).Status)
	require.Equal(t, job.StatusPending, b.job(second).Status)
	g.open()

	b.observed.expect(t, worker.OutcomeSucceeded, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	require.Equal(t, []int{1, 1}, drained(b.observed.batches))
}

func TestWorkerRunsABacklogWithoutPausing(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	const jobs = 20
	for range jobs {
		b.submit()
	}
	b.run(b.store)

	for range jobs {
		require.Equal(t, job.StatusSucceeded, next(t, b.observed.ended))
	}
	require.Equal(t, jobs, b.effects())
}

func TestClaimThatFindsAttemptsUsedUpFailsTheJobsAndGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	exhausted := []uuid.UUID{b.submit(), b.submit()}
	b.exec(`UPDATE etl_job_records SET attempt_count = $1, fault_count = $1`, b.config.MaxAttempts)
	b.submit()
	b.run(b.store)

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	b.observed.expectEnded(t, job.StatusFailed, job.StatusFailed, job.StatusSucceeded)
	for _, id := range exhausted {
		require.Equal(t, job.FailureAttemptsExhausted, b.job(id).FailureCode)
	}
	require.Equal(t, []worker.Failure{{Code: job.FailureAttemptsExhausted}, {Code: job.FailureAttemptsExhausted}}, drained(b.observed.failures))
	require.Equal(t, 2, strings.Count(b.logs.String(), "code=etl_worker_attempts_exhausted"))
}

func TestFailingClaimsPauseForThePollIntervalWhateverIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	lost := &losing{Queue: b.store, lost: disconnected(t), losses: 1000}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*b.config.PollInterval+time.Minute)
		defer cancel()
		stopped := b.runUntil(ctx, lost)
		for range 10 {
			b.worker.Notify(worker.Notice{Status: job.StatusPending})
			synctest.Wait()
		}
		require.NoError(t, <-stopped)
	})
	require.EqualValues(t, 3, lost.claims.Load())
	require.Equal(t, 1, strings.Count(b.logs.String(), "code=etl_database_unavailable"))
}

func TestWorkerClaimsAgainOnceTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.config.PollInterval = 10 * time.Millisecond
	b.submit()
	stop, stopped := b.run(&losing{Queue: b.store, lost: disconnected(t), losses: 2})

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	stop()
	require.NoError(t, next(t, stopped)) // and has logged all that it will
	require.Equal(t, 1, strings.Count(b.logs.String(), "worker cannot claim jobs"))
	require.Equal(t, 1, strings.Count(b.logs.String(), "worker claims jobs again"))
}
