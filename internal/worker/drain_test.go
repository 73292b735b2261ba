package worker_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

func TestDrainLetsRunningJobsFinishAndClaimsNoMore(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	b.config.Workers = 1
	g := b.closeGate()
	running, waiting := b.submit(), b.submit()
	stop, stopped := b.run(b.store)
	g.await(1)
	stop()
	g.open()

	require.NoError(t, next(t, stopped))
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	require.Equal(t, job.StatusSucceeded, b.job(running).Status)
	require.Equal(t, job.StatusPending, b.job(waiting).Status)
}

func TestDrainDeadlineLeavesTheJobToItsLeaseWithoutEffects(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedLoad)
	b.config.DrainTimeout = 0
	g := b.closeGate()
	id := b.submit()
	stop, stopped := b.run(b.store)
	g.await(1)
	lease := scan[uuid.UUID](b, `SELECT lease_claim_id FROM etl_job_records`)

	stop()
	require.ErrorIs(t, next(t, stopped), worker.ErrDrainDeadline)
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeAbandoned)
	b.observed.expectEnded(t)
	require.Equal(t, job.StatusRunning, b.job(id).Status)
	require.Equal(t, lease, scan[uuid.UUID](b, `SELECT lease_claim_id FROM etl_job_records`))
	require.Zero(t, b.effects())
}

// slow is a queue whose claims are answered only when they may go on.
type slow struct {
	worker.Queue
	claimed, goOn chan struct{}
}

func newSlow(queue worker.Queue) slow {
	const claims = 10 // more than any test makes
	return slow{queue, make(chan struct{}, claims), make(chan struct{})}
}

func (s slow) Claim(ctx context.Context, r worker.ClaimRequest) (worker.Claimed, error) {
	claimed, err := s.Queue.Claim(ctx, r)
	s.claimed <- struct{}{}
	<-s.goOn
	return claimed, err
}

func TestDrainRunsTheJobsOfAClaimThatIsUnderWay(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	id := b.submit()
	queue := newSlow(b.store)
	stop, stopped := b.run(queue)
	next(t, queue.claimed)
	stop()
	close(queue.goOn)

	require.NoError(t, next(t, stopped))
	b.observed.expect(t, worker.OutcomeClaimed, worker.OutcomeSucceeded)
	require.Equal(t, job.StatusSucceeded, b.job(id).Status)
}
