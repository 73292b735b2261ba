package postgres

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/faultproxy"
	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// shortLease is time enough to execute a small job before it ends.
const shortLease = 3 * time.Second

// pastTheFence executes a job up to the commit, which is held, and waits until the lease has ended meanwhile.
func (w *faultWorld) pastTheFence() (job.Job, *faultproxy.Hold, <-chan result[struct{}]) {
	w.Helper()
	j := w.submit()
	claimed, err := w.store.Claim(w.Context(), aClaim(shortLease))
	require.NoError(w, err)
	require.Len(w, claimed.Leases, 1)
	hold := w.proxy.Hold(faultproxy.BeforeCommit, succeedSQL)
	execution := w.far.execute(claimed.Leases[0])
	hold.Wait(w)
	require.Eventually(w, func() bool {
		return w.count("etl_job_records WHERE lease_expires_at <= clock_timestamp()") == 1
	}, 10*time.Second, 10*time.Millisecond)
	return j, hold, execution
}

func TestLeaseThatEndsBetweenFenceAndCommitIsStillThatOfOneWorker(t *testing.T) {
	t.Parallel()
	w := newFaultWorld(t)
	j, hold, execution := w.pastTheFence()
	require.Empty(t, w.claimAll(10), "the fence holds the row, and a claim does not wait")
	cancellation := async(func() (job.Accepted, error) { return w.cancel(j, "k") })
	w.waitForLock()
	hold.Pass(t)

	require.NoError(t, (<-execution).err)
	requireProblem(t, job.CodeAlreadySucceeded, (<-cancellation).err)
	require.Empty(t, w.claimAll(10))
	w.requireEffectsOnce(j.ID)
	w.requireBooksBalance()
}

func TestLeaseThatEndsBeforeACommitThatIsLostIsClaimedAgain(t *testing.T) {
	t.Parallel()
	w := newFaultWorld(t)
	j, hold, execution := w.pastTheFence()
	hold.Cut(t)

	requireLoadError(t, job.FailureTargetUnavailable, true, (<-execution).err)
	var leases []worker.Lease
	require.Eventually(t, func() bool { // until the server has noticed that its client is gone
		leases = w.claimAll(10).Leases
		return len(leases) == 1
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, 2, leases[0].Attempt)
	require.NoError(t, w.store.Execute(t.Context(), leases[0]))
	w.requireEffectsOnce(j.ID)
	w.requireBooksBalance()
}

// atAnotherTime runs a service whose clock shows midnight of 2000-01-01, as it is in a synctest bubble, and stands still
// while the database is waited for.
func (w *world) atAnotherTime(test func(*world)) {
	w.Helper()
	synctest.Test(w.T, func(t *testing.T) {
		require.Equal(t, 2000, time.Now().Year())
		test(newWorldOn(t, w.url))
	})
}

func TestServiceWhoseClockIsDecadesOffDecidesAsAnyOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var j, cancelled job.Job
	var lease worker.Lease
	w.atAnotherTime(func(off *world) {
		j = off.submit()
		lease = off.claim()
	})
	w.requireNow(j.CreatedAt)
	require.Equal(t, 1, w.count(`etl_job_records WHERE lease_expires_at - clock_timestamp() BETWEEN '50 seconds' AND '1 minute'`))
	require.Empty(t, w.claimAll(10), "the lease holds for services with another clock")
	w.atAnotherTime(func(off *world) {
		require.NoError(t, off.store.Retry(t.Context(), lease, time.Hour))
		require.Empty(t, off.claimAll(10), "the delay has just begun")
	})
	w.mustExec("UPDATE etl_job_records SET next_attempt_at = clock_timestamp()")
	w.atAnotherTime(func(off *world) {
		lease = off.claim()
		ctx, cancel := context.WithTimeout(off.Context(), time.Minute)
		defer cancel()
		require.NoError(t, off.store.Execute(ctx, lease))
		cancelled = off.cancelled()
		_, err := off.replay(cancelled, "k")
		require.NoError(t, err)
	})
	w.requireEffectsOnce(j.ID)
	w.requireNow(cancelled.CancelledAt)
	require.NoError(t, w.store.Execute(t.Context(), w.claim()))
	require.Equal(t, 2, w.count("etl_job_records WHERE job_status = 'SUCCEEDED'"))
	w.requireBooksBalance()
}

// requireNow compares a time with the database's clock.
func (w *world) requireNow(at time.Time) {
	w.Helper()
	require.Equal(w, 1, w.count("(SELECT WHERE $1 BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp()) AS recent", at))
}
