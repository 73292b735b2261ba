package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// ErrStale means that the lease is no longer the live one: the job was cancelled, its lease expired, or another worker
// has it. Nothing of the attempt remains.
var ErrStale = errors.New("lease is stale")

// Lease is one worker's exclusive and temporary right to run one job. Its claim id is the fence: every verdict on the job
// names it, and matches nothing once it has been taken away.
type Lease struct {
	// Owner and JobID name the job.
	Owner job.Owner
	JobID uuid.UUID
	// RootID is the first job of its lineage, the job itself on one that was submitted.
	RootID uuid.UUID
	// ClaimID is new with every claim.
	ClaimID uuid.UUID
	// Attempt counts the claims, this one included.
	Attempt int
	// TraceParent is the trace context of the request that made the job (W3C Trace Context, "traceparent"), or "" when that was not
	// traced.
	TraceParent string
	// Waited is the time between the moment that the job was due and the claim.
	Waited time.Duration
	// Digest is the SHA-256 digest that the payload was accepted with.
	Digest [sha256.Size]byte
	// Payload is the batch where it is short. Where it is nil, the execution reads it.
	Payload []byte
}

// ClaimRequest asks for leases.
type ClaimRequest struct {
	// WorkerID names the claiming process.
	WorkerID uuid.UUID
	// Limit is the greatest number of leases.
	Limit int
	// Duration is how long each lease lives.
	Duration time.Duration
	// MaxAttempts is the number of claims after which a job is failed instead.
	MaxAttempts int
}

// Claimed is the answer to a claim.
type Claimed struct {
	// Leases are the jobs to run.
	Leases []Lease
	// Exhausted is the number of jobs that the claim made FAILED, because their attempts were used up.
	Exhausted int
}

// LoadError is why a load did not commit, as one of the closed failure codes. It wraps the cause, which must not leave the
// process.
type LoadError struct {
	// Code is what to store if the job ends with this failure.
	Code job.FailureCode
	// Transient tells that another attempt may succeed.
	Transient bool
	cause     error
}

// NewLoadError classifies a cause.
func NewLoadError(code job.FailureCode, transient bool, cause error) *LoadError {
	return &LoadError{Code: code, Transient: transient, cause: cause}
}

// Error is the code alone, so that logging it can leak nothing.
func (e *LoadError) Error() string { return string(e.Code) }

// Unwrap gives the cause to errors.Is and errors.As.
func (e *LoadError) Unwrap() error { return e.cause }

// Queue hands out jobs and takes verdicts on them. Each verdict is one conditional statement on the exact live lease.
type Queue interface {
	// Claim leases due jobs: pending ones, and running ones whose lease has expired. Owners take turns, so that a job does not
	// wait for all older jobs of others; of one owner, the oldest pending jobs come first. It never waits for a row that another
	// transaction holds.
	Claim(ctx context.Context, r ClaimRequest) (Claimed, error)

	// Execute loads the job's records, writes its ledger row and makes it SUCCEEDED, in one transaction that does so only
	// under the exact live lease, and that may be shared by executions that come together. [ErrStale] when the lease was gone
	// in the end, a [LoadError] when the load failed before that was looked at; in both cases nothing remains. Cancelling ctx
	// stops the load, unless it is in a shared statement that has been sent.
	Execute(ctx context.Context, l Lease) error

	// Retry gives the job back as PENDING, due after the delay. [ErrStale].
	Retry(ctx context.Context, l Lease, delay time.Duration) error

	// Fail makes the job FAILED with the code. [ErrStale].
	Fail(ctx context.Context, l Lease, code job.FailureCode) error
}

// Backlog is what there is to do for all workers together.
type Backlog struct {
	// Pending and Running count the jobs in these statuses, and Expired those of the running ones whose lease has ended.
	// Each stops at [MaxBacklogCount], so that looking costs little however much there is.
	Pending, Running, Expired int
	// OldestDue is how long the pending job that is due for longest has been waiting; 0 when none is due.
	OldestDue time.Duration
}

// MaxBacklogCount is the highest count of a [Backlog].
const MaxBacklogCount = 10_000

// Notice is a hint that a job's status changed. Notices may be lost or repeated; they never decide anything. The zero
// Notice says that some may have been missed.
type Notice struct {
	// JobID names the job.
	JobID uuid.UUID
	// RootID is the first job of its lineage.
	RootID uuid.UUID
	// Status is the one that it changed to.
	Status job.Status
}
