package races

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// holdCommits makes every COMMIT of an execution wait at the gate, as if the disk were slow.
const holdCommits = `
CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(%d); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER commits_wait AFTER INSERT ON etl_idempotency_records DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION wait_at_gate()`

// steppedClock is a clock in front of the database's own, which goes forward when the test says so.
const steppedClock = `
CREATE SCHEMA stepped;
CREATE TABLE stepped.clock AS SELECT interval '0' AS ahead;
CREATE FUNCTION stepped.clock_timestamp() RETURNS timestamptz VOLATILE SECURITY DEFINER LANGUAGE sql
	AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM stepped.clock';
GRANT USAGE ON SCHEMA stepped TO PUBLIC`

// stepClock gives the steppedClock to the store.
func (w *world) stepClock() {
	w.Helper()
	w.MustExec(steppedClock)
	w.World = w.On(storetest.Open(w, pgtest.Direct(w.URL)+"&search_path=stepped,pg_catalog,public"))
}

// pastTheFence executes a job as far as into its commit, and lets the lease end there.
func (w *world) pastTheFence() (j job.Job, execution <-chan storetest.Result[struct{}], open func()) {
	w.Helper()
	w.stepClock()
	w.MustExec(fmt.Sprintf(holdCommits, storetest.Gate))
	j, lease := w.RunningJob()
	open = w.CloseGate()
	execution = w.Execute(lease)
	w.WaitForLock()
	require.Empty(w, w.ClaimAll(10), "the lease is alive")
	w.MustExec("UPDATE stepped.clock SET ahead = '2 hours'")
	return j, execution, open
}

func TestLeaseThatEndsInMidCommitIsStillThatOfOneWorker(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, execution, open := w.pastTheFence()
		require.Empty(w, w.ClaimAll(10), "the fence holds the row, and a claim does not wait")
		cancellation := storetest.Async(func() (job.Accepted, error) { return w.Cancel(j, "k") })
		pgtest.Eventually(w, "both to wait", func() bool { return w.Count("pg_locks WHERE NOT granted AND pid IN ("+ofThisDatabase+")") == 2 })
		open()

		require.NoError(w, (<-execution).Err)
		storetest.RequireProblem(w, job.CodeAlreadySucceeded, (<-cancellation).Err)
		require.Empty(w, w.ClaimAll(10))
		w.RequireEffectsOnce(j.ID)
		w.RequireBooksBalance()
	})
}

// ofThisDatabase are the process ids of those who wait in the test's own database.
const ofThisDatabase = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

func TestLeaseThatEndsInACommitThatFailsIsClaimedAgain(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, execution, open := w.pastTheFence()
		w.MustExec("SELECT pg_terminate_backend(pid, 10000) FROM (" + ofThisDatabase + ") AS waiting")
		if err := (<-execution).Err; w.SharesExecutions() {
			require.ErrorIs(w, err, worker.ErrStale, "it tried again, and met the fence")
		} else {
			storetest.RequireLoadError(w, job.FailureTargetUnavailable, true, err)
		}
		w.RequireNoEffects(j.ID)
		open()

		lease := w.Claim()
		require.Equal(w, 2, lease.Attempt)
		require.NoError(w, w.Store.Execute(w.Context(), lease))
		w.RequireEffectsOnce(j.ID)
		w.RequireBooksBalance()
	})
}

// atAnotherTime runs a service whose clock shows midnight of 2000-01-01, as it is in a synctest bubble, and stands still
// while the database is waited for.
func (w *world) atAnotherTime(test func(*world)) {
	w.Helper()
	synctest.Test(w.T, func(t *testing.T) {
		require.Equal(t, 2000, time.Now().Year())
		test(&world{storetest.On(t, w.URL)})
	})
}

func TestServiceWhoseClockIsDecadesOffDecidesAsAnyOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var j, cancelled job.Job
	var lease worker.Lease
	began := w.now()
	w.atAnotherTime(func(off *world) {
		j = off.Submit()
		lease = off.Claim()
	})
	w.requireBetween(began, j.CreatedAt)
	require.Equal(t, 1, w.Count("etl_job_records WHERE lease_expires_at - interval '1 hour' BETWEEN $1 AND clock_timestamp()", began))
	require.Empty(t, w.ClaimAll(10), "the lease holds for services with another clock")
	w.atAnotherTime(func(off *world) {
		require.NoError(t, off.Store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried, Delay: time.Hour}))
		require.Empty(t, off.ClaimAll(10), "the delay has just begun")
	})
	w.MustExec("UPDATE etl_job_records SET next_attempt_at = clock_timestamp()")
	w.atAnotherTime(func(off *world) {
		lease = off.Claim()
		ctx, cancel := context.WithTimeout(off.Context(), time.Minute)
		defer cancel()
		require.NoError(t, off.Store.Execute(ctx, lease))
		cancelled = off.CancelledJob()
		_, err := off.Replay(cancelled, "k")
		require.NoError(t, err)
	})
	w.RequireEffectsOnce(j.ID)
	w.requireBetween(began, cancelled.CancelledAt)
	require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
	require.Equal(t, 2, w.Count("etl_job_records WHERE job_status = 'SUCCEEDED'"))
	w.RequireBooksBalance()
}

// now is the time of the database's clock.
func (w *world) now() (now time.Time) {
	w.Helper()
	require.NoError(w, w.Admin.QueryRow(w.Context(), "SELECT clock_timestamp()").Scan(&now))
	return now
}

// requireBetween wants a time to lie between another one and now, by the database's clock.
func (w *world) requireBetween(began, at time.Time) {
	w.Helper()
	require.WithinRange(w, at, began, w.now())
}
