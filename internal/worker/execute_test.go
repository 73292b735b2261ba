package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/worker"
)

func TestJobThatLoadsSucceedsAndIsCountedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	id := b.submit()
	stop, stopped := b.run(b.store)

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	stop()
	require.NoError(t, next(t, stopped))
	b.observed.expectEnded(t, job.StatusSucceeded)
	require.Equal(t, job.StatusSucceeded, b.job(id).Status)
	require.Equal(t, 1, b.effects())
	require.Equal(t, []int{1}, drained(b.observed.batches))
	require.Equal(t, []worker.Outcome{worker.OutcomeSucceeded}, drained(b.observed.executions))
	waits := drained(b.observed.waits)
	require.Len(t, waits, 1)
	require.Positive(t, waits[0])
	require.Contains(t, b.logs.String(), "outcome=succeeded")
}

func TestTransientFailureIsRetriedAfterTheBackoff(t *testing.T) {
	t.Parallel()
	b := newBench(t, `SELECT raise('40001', 1) FROM (SELECT @records::jsonb) AS batch`)
	id := b.submit()
	b.run(b.store)

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeRetried)
	require.Equal(t, job.StatusPending, b.job(id).Status)
	delay := scan[time.Duration](b, `SELECT next_attempt_at - updated_at FROM etl_job_records`)
	require.Greater(t, delay, b.config.RetryBackoff/2-time.Second)
	require.LessOrEqual(t, delay, b.config.RetryBackoff)

	b.exec(`UPDATE etl_job_records SET next_attempt_at = clock_timestamp()`)
	b.worker.Notify(worker.Notice{JobID: id, Status: job.StatusPending})
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	b.observed.expectEnded(t, job.StatusSucceeded)
	require.Equal(t, 2, b.job(id).AttemptCount)
	require.Contains(t, b.logs.String(), "outcome=retried")
	require.NotContains(t, b.logs.String(), "secret")
}

func TestTransientFailureOfTheLastAttemptFailsTheJob(t *testing.T) {
	t.Parallel()
	b := newBench(t, `SELECT raise('40001', 1) FROM (SELECT @records::jsonb) AS batch`)
	b.config.MaxAttempts = 1
	id := b.submit()
	b.run(b.store)

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeFailed)
	b.observed.expectEnded(t, job.StatusFailed)
	require.Equal(t, job.FailureAttemptsExhausted, b.job(id).FailureCode)
	require.Equal(t, job.FailureAttemptsExhausted, next(t, b.observed.failures).Code)
}

func TestPermanentFailureFailsTheJobAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, `SELECT raise('23505', 1) FROM (SELECT @records::jsonb) AS batch`)
	id := b.submit()
	stop, stopped := b.run(b.store)

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeFailed)
	stop()
	require.NoError(t, next(t, stopped)) // and has logged all that it will
	b.observed.expectEnded(t, job.StatusFailed)
	require.Equal(t, job.FailureTarget, b.job(id).FailureCode)
	require.Equal(t, job.FailureTarget, next(t, b.observed.failures).Code)
	require.Contains(t, b.logs.String(), "code=etl_target_failure sql_state=23505")
	require.NotContains(t, b.logs.String(), "secret")
}

func TestJobThatIsAlreadyInTheLedgerFailsItsIntegrity(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	id := b.submit()
	b.exec(`INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
		SELECT principal_scope_hash, job_record_id, request_digest, record_count FROM etl_job_records`)
	b.run(b.store)

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeFailed)
	require.Equal(t, job.FailureIntegrity, b.job(id).FailureCode)
	require.Zero(t, b.effects())
}

func TestExecutionWhoseLeaseWasTakenAwayLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	g := b.closeGate()
	id := b.submit()
	b.run(b.store)
	g.await(1)
	b.exec(`UPDATE etl_job_records SET lease_claim_id = gen_random_uuid()`)
	g.open()

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeStale)
	b.observed.expectEnded(t)
	require.Equal(t, job.StatusRunning, b.job(id).Status)
	require.Zero(t, b.effects())
}

func TestVerdictWithoutTheLeaseIsStale(t *testing.T) {
	t.Parallel()
	b := newBench(t, `SELECT pg_advisory_xact_lock_shared(1), raise('40001', 1) FROM (SELECT @records::jsonb) AS batch`)
	g := b.closeGate()
	id := b.submit()
	b.run(b.store)
	g.await(1)
	b.cancel(id)
	g.open()

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeStale)
	b.observed.expectEnded(t)
	require.Equal(t, job.StatusCancelled, b.job(id).Status)
}

func TestExecutionEndsWithItsLease(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	b.config.LeaseDuration, b.config.PollInterval, b.config.MaxAttempts = 100*time.Millisecond, 20*time.Millisecond, 1
	b.closeGate()
	id := b.submit()
	b.run(b.store)

	require.Equal(t, job.StatusFailed, next(t, b.observed.ended))
	require.Equal(t, job.FailureAttemptsExhausted, b.job(id).FailureCode)
	require.Zero(t, b.effects())
	next(t, b.observed.executions) // its end may come behind that of the job, whose lease has expired
	require.Empty(t, b.observed.executions)
}

func TestCancelNoticeStopsThatExecutionOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	g := b.closeGate()
	cancelled, other := b.submit(), b.submit()
	b.run(b.store)
	g.await(2)
	b.cancel(cancelled)
	b.worker.Notify(worker.Notice{JobID: other, Status: job.StatusSucceeded})
	b.worker.Notify(worker.Notice{JobID: cancelled, Status: job.StatusCancelled})
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeClaimed, worker.OutcomeCancelled)
	b.observed.expectEnded(t)
	g.await(1)

	g.open()
	b.observed.expect(t, worker.OutcomeSucceeded)
	require.Equal(t, job.StatusSucceeded, b.job(other).Status)
	require.Equal(t, 1, b.effects())
}

func TestFalseCancelNoticeStopsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	g := b.closeGate()
	id := b.submit()
	b.run(b.store)
	g.await(1)
	for range 100 {
		b.worker.Notify(worker.Notice{JobID: id, Status: job.StatusCancelled})
	}
	g.open()
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	require.Equal(t, 1, b.job(id).AttemptCount)
}

// blind is a queue that cannot say who holds a lease.
type blind struct {
	worker.Queue
	asked chan struct{}
}

func (q blind) Holds(context.Context, worker.Lease) (bool, error) {
	q.asked <- struct{}{}
	return false, job.ErrUnavailable
}

func TestCancelNoticeThatCannotBeCheckedStopsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	g := b.closeGate()
	id := b.submit()
	queue := blind{b.store, make(chan struct{})}
	b.run(queue)
	g.await(1)
	b.worker.Notify(worker.Notice{JobID: id, Status: job.StatusCancelled})
	next(t, queue.asked)
	b.worker.Notify(worker.Notice{JobID: id, Status: job.StatusCancelled})
	next(t, queue.asked)
	g.open()
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
}

func TestCancelNoticeBeforeTheAnswerToTheClaimStopsTheExecution(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	b.closeGate()
	id := b.submit()
	queue := newSlow(b.store)
	b.run(queue)
	next(t, queue.claimed)
	b.cancel(id)
	b.worker.Notify(worker.Notice{JobID: id, Status: job.StatusCancelled})
	close(queue.goOn)

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeCancelled)
	b.observed.expectEnded(t)
}

func TestCancelNoticeDoesNotStopAVerdict(t *testing.T) {
	t.Parallel()
	b := newBench(t, `SELECT pg_advisory_xact_lock_shared(1), raise('23505', 1) FROM (SELECT @records::jsonb) AS batch`)
	g := b.closeGate()
	id := b.submit()
	b.run(b.store)
	g.await(1)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM etl_job_records FOR UPDATE`)
	require.NoError(t, err)
	g.open()
	pgtest.WaitForBlockedBy(t, b.pool, tx.Conn().PgConn().PID())
	b.worker.Notify(worker.Notice{JobID: id, Status: job.StatusCancelled})
	require.NoError(t, tx.Commit(t.Context()))

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeFailed)
	require.Equal(t, job.FailureTarget, b.job(id).FailureCode)
}

// panicking is a queue whose executions panic.
type panicking struct{ worker.Queue }

func (panicking) Execute(context.Context, worker.Lease) error { panic("secret value") }

func TestPanicFailsTheJobAndTheWorkerGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	first := b.submit()
	b.run(panicking{b.store})
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeFailed)

	second := b.submit()
	b.worker.Notify(worker.Notice{})
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeFailed)
	for _, id := range []uuid.UUID{first, second} {
		require.Equal(t, job.FailureInternal, b.job(id).FailureCode)
	}
	require.Contains(t, b.logs.String(), "code=etl_internal_error")
	require.NotContains(t, b.logs.String(), "secret")
}

// mute is a queue that loses its database between an execution and its verdict.
type mute struct {
	worker.Queue
	lost worker.Queue
}

func (m mute) Fail(ctx context.Context, l worker.Lease, f worker.Failure) error {
	return m.lost.Fail(ctx, l, f)
}

func TestJobWhoseVerdictIsNotTakenIsLeftToItsLease(t *testing.T) {
	t.Parallel()
	b := newBench(t, `SELECT raise('23505', 1) FROM (SELECT @records::jsonb) AS batch`)
	id := b.submit()
	b.run(mute{b.store, disconnected(t)})

	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeAbandoned)
	b.observed.expectEnded(t)
	require.Equal(t, job.StatusRunning, b.job(id).Status)
}

// ofPrices is a load into a table that is not there yet.
const ofPrices = `INSERT INTO prices SELECT r.id FROM jsonb_to_recordset(@records::jsonb) AS r (id text)`

func TestFaultOfTheLoadFailsNoJobAndAllSucceedOnceItIsMended(t *testing.T) {
	t.Parallel()
	b := newBench(t, ofPrices)
	ids := []uuid.UUID{b.submit(), b.submit()}
	b.run(b.store)
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeClaimed, worker.OutcomeReturned, worker.OutcomeReturned)
	require.ErrorIs(t, b.worker.Ready(), worker.ErrNotReady)
	for _, id := range ids {
		require.Equal(t, job.StatusPending, b.job(id).Status)
	}
	require.Contains(t, b.logs.String(), `load is closed: mend it or its target, and it opens by itself" load=default sql_state=42P01`)

	b.exec("CREATE TABLE prices (item text)")
	b.exec("GRANT INSERT ON prices TO PUBLIC")
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	require.NoError(t, b.worker.Ready())
	b.observed.expectEnded(t, job.StatusSucceeded, job.StatusSucceeded)
	require.Equal(t, 2, scan[int](b, "SELECT count(*) FROM etl_job_attempts WHERE attempt_outcome = 'load_closed' AND sql_state = '42P01'"))
}

func TestWorkerOfAClosedLoadStopsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, ofPrices)
	b.submit()
	stop, stopped := b.run(b.store)
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeReturned)
	stop()
	require.NoError(t, next(t, stopped))
}

func TestFailureIsExplainedByItsCodeAndTheRecordAtFault(t *testing.T) {
	t.Parallel()
	b := newBench(t, `SELECT raise('23505', 100) FROM jsonb_array_elements(@records::jsonb)`)
	b.config.ExplainTimeout = patience
	id := b.submit()
	b.run(b.store)
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeFailed)
	require.Equal(t, "23505", b.job(id).FailureSQLState)
	require.Equal(t, 1, b.job(id).FailureRecordOrdinal)
	require.Contains(t, b.logs.String(), "job="+id.String()+" code=etl_target_failure sql_state=23505")
	require.NotContains(t, b.logs.String(), "secret")
}
