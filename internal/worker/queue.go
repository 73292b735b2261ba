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
	// Attempt counts the claims, this one included, and Faults the attempts before that a passing fault or a lost lease has ended.
	Attempt, Faults int
	// StartedAt is the database's time of the claim.
	StartedAt time.Time
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
	// MaxAttempts is how many attempts may end by a passing fault or a lost lease; after them a job is failed instead.
	MaxAttempts int
}

// Claimed is the answer to a claim.
type Claimed struct {
	// Leases are the jobs to run.
	Leases []Lease
	// Exhausted are the jobs that the claim made FAILED, because their attempts were used up. They are leases of nothing.
	Exhausted []Lease
}

// A Fault says what would have to change for a failed execution to fare better.
type Fault int

const (
	// FaultOfJob: other records. The job is FAILED.
	FaultOfJob Fault = iota
	// FaultOfLoad: the load or its target, which an operator mends without touching the records. The load is closed until then, and
	// the job goes back with its payload.
	FaultOfLoad
	// FaultPassing: nothing but time. The job is tried again, up to the limit of attempts.
	FaultPassing
)

// Failure says why an execution did not commit. None of it is data.
type Failure struct {
	// Code is what to store if the job ends with this failure.
	Code job.FailureCode
	// SQLState is PostgreSQL's code of the error (its documentation, appendix A), or "" when it did not come from the database.
	SQLState string
	// RecordOrdinal is the first record at which the batch begins to fail, from 1 on, or 0 when that is not known.
	RecordOrdinal int
	// Constraint is the name of the violated constraint, or "".
	Constraint string
}

// LoadError is why a load did not commit. It wraps the cause, which must not leave the process.
type LoadError struct {
	Failure
	// Fault is whose it is.
	Fault Fault
	// Place says for an operator where in the load's own text the fault is, as "line 3, column 5", or "".
	Place string
	cause error
}

// NewLoadError classifies a cause.
func NewLoadError(code job.FailureCode, fault Fault, cause error) *LoadError {
	return &LoadError{Failure: Failure{Code: code}, Fault: fault, cause: cause}
}

// Error is the code alone, so that logging it can leak nothing.
func (e *LoadError) Error() string { return string(e.Code) }

// Unwrap gives the cause to errors.Is and errors.As.
func (e *LoadError) Unwrap() error { return e.cause }

// A Return gives a job back.
type Return struct {
	// Outcome is how the attempt ended: [job.AttemptRetried], which counts to the limit of attempts, or [job.AttemptLoadClosed], which
	// does not.
	Outcome job.AttemptOutcome
	// Delay is when the job is due again.
	Delay time.Duration
	// SQLState is PostgreSQL's code of the error, or "".
	SQLState string
}

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

	// Retry gives the job back as PENDING. [ErrStale].
	Retry(ctx context.Context, l Lease, r Return) error

	// Fail makes the job FAILED for a reason. [ErrStale].
	Fail(ctx context.Context, l Lease, f Failure) error

	// RefusedLate writes down that the lease was gone when its worker wanted to give a verdict.
	RefusedLate(ctx context.Context, l Lease) error

	// Holds reports whether the job is still running under this very lease.
	Holds(ctx context.Context, l Lease) (bool, error)

	// Explain finds the first record at which the job's batch begins to fail with a SQLSTATE, from 1 on, by running its load with the
	// first of its records in transactions that are rolled back, or 0 when that tells nothing. Cancelling ctx ends it.
	Explain(ctx context.Context, l Lease, sqlState string) int

	// Prepare tells whether the load's statement fits the database, without running it: nil, a [LoadError], or an error of the
	// connection.
	Prepare(ctx context.Context) error
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
