package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// claimOnce claims no more jobs than can start at once, since a lease runs out while its job waits. After a full batch it
// returns at once; otherwise it pauses for the poll interval, a notice, or the end of an execution. Of a closed load it claims nothing.
func (w *Worker) claimOnce(ctx, executions context.Context) {
	if !w.load.admits(ctx, w.prepare) {
		return
	}
	free := w.load.limit(w.free(), w.cfg.Workers)
	if free == 0 {
		w.pause(ctx, w.wake)
		return
	}
	claimed, err := w.claimAndStart(ctx, executions, free)
	w.logClaim(err)
	switch {
	case err != nil:
		w.pause(ctx, nil)
	case claimed < free:
		w.pause(ctx, w.wake)
	}
}

// claimAndStart tells how many jobs it claimed.
func (w *Worker) claimAndStart(ctx, executions context.Context, limit int) (int, error) {
	w.remember(make(map[uuid.UUID]struct{}))
	defer w.remember(nil)
	claimedAt := time.Now()
	claimed, err := w.claim(ctx, limit)
	if err != nil {
		return 0, err
	}
	w.observeClaim(claimed)
	for _, l := range claimed.Leases {
		w.start(executions, l, claimedAt.Add(w.cfg.LeaseDuration))
	}
	return len(claimed.Leases) + len(claimed.Exhausted), nil
}

// remember collects the jobs whose cancellation is told from now on, or no longer does.
func (w *Worker) remember(cancelled map[uuid.UUID]struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancelled = cancelled
}

func (w *Worker) free() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cfg.Workers - len(w.running)
}

// pause waits for the poll interval at most. A failed claim passes no wake channel, so that notices can't make a broken
// database busier.
func (w *Worker) pause(ctx context.Context, wake <-chan struct{}) {
	timer := time.NewTimer(w.cfg.PollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// claim outlives ctx: interrupted half-way, it might leave jobs leased to nobody.
func (w *Worker) claim(ctx context.Context, limit int) (Claimed, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StatementTimeout)
	defer cancel()
	return w.queue.Claim(ctx, ClaimRequest{
		WorkerID:    w.id,
		Limit:       limit,
		Duration:    w.cfg.LeaseDuration,
		MaxAttempts: w.cfg.MaxAttempts,
	})
}

func (w *Worker) logClaim(err error) {
	failing := err != nil
	switch was := w.claimFailing.Swap(failing); {
	case failing && !was:
		w.log.Error("worker cannot claim jobs", slog.String("code", string(job.CodeDatabaseUnavailable)))
	case !failing && was:
		w.log.Info("worker claims jobs again")
	}
}

func (w *Worker) observeClaim(c Claimed) {
	for _, l := range c.Exhausted {
		w.logOutcome(l, OutcomeFailed, Failure{Code: job.FailureAttemptsExhausted})
		w.observer.JobEnded(job.StatusFailed)
		w.observer.JobFailed(Failure{Code: job.FailureAttemptsExhausted})
	}
	if len(c.Leases) == 0 {
		w.observer.Outcome(OutcomeIdle)
		return
	}
	w.observer.ClaimBatch(len(c.Leases))
	for _, l := range c.Leases {
		w.observer.Outcome(OutcomeClaimed)
		w.observer.QueueWait(l.Waited)
	}
}

func (w *Worker) prepare(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, w.cfg.StatementTimeout)
	defer cancel()
	return w.queue.Prepare(bounded)
}
