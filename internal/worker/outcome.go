package worker

import (
	"context"
	"time"

	"fencepost/internal/job"
)

// Outcome says how a claim or an execution went. The list is closed, so that it can label a metric.
type Outcome string

// The outcomes. The first two are of claims, the others of executions.
const (
	// OutcomeIdle: a claim found no job to run.
	OutcomeIdle Outcome = "idle"
	// OutcomeClaimed: a claim leased a job.
	OutcomeClaimed Outcome = "claimed"
	// OutcomeSucceeded: the job's effects are committed.
	OutcomeSucceeded Outcome = "succeeded"
	// OutcomeRetried: the job was given back, to be claimed again later.
	OutcomeRetried Outcome = "retried"
	// OutcomeReturned: the job was given back because its load, or what that needs, is at fault.
	OutcomeReturned Outcome = "returned"
	// OutcomeFailed: the job is FAILED.
	OutcomeFailed Outcome = "failed"
	// OutcomeStale: the lease ended first, and nothing of the attempt remains.
	OutcomeStale Outcome = "stale"
	// OutcomeCancelled: the owner's cancellation was noticed, and nothing of the attempt remains.
	OutcomeCancelled Outcome = "cancelled"
	// OutcomeAbandoned: the job was left to its lease, because the drain deadline passed or the database did not take the
	// verdict. Nothing of the attempt remains, and another worker claims the job once the lease has expired.
	OutcomeAbandoned Outcome = "abandoned"
)

// Outcomes lists every outcome.
var Outcomes = []Outcome{
	OutcomeIdle, OutcomeClaimed, OutcomeSucceeded, OutcomeRetried, OutcomeReturned,
	OutcomeFailed, OutcomeStale, OutcomeCancelled, OutcomeAbandoned,
}

// Observer is told what happened, for metrics. Its methods are called after the fact is committed, from many goroutines.
type Observer interface {
	// JobEnded is called once for each job that this process made SUCCEEDED or FAILED.
	JobEnded(status job.Status)
	// JobFailed is called beside JobEnded for each job that this process made FAILED, with the reason.
	JobFailed(f Failure)
	// LoadOpen is called when a load is closed and when it is open again.
	LoadOpen(name string, open bool)
	// Outcome is called for each claim that found nothing, each lease, and each end of an execution.
	Outcome(outcome Outcome)
	// ExecutionBegan is called at the start of each execution, with the lease's trace context. The execution runs in the context that
	// it returns, and calls end once, with its outcome.
	ExecutionBegan(ctx context.Context, traceParent string) (_ context.Context, end func(Outcome))
	// QueueWait is called for each lease with the time between the moment that the job was due and the claim.
	QueueWait(d time.Duration)
	// ClaimBatch is called with the number of leases of each claim that found some.
	ClaimBatch(n int)
}
