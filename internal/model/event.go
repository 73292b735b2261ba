package model

import (
	"github.com/google/uuid"

	"fencepost/internal/job"
)

// Action is a kind of call.
type Action string

// The actions: first those of an owner, then those of a worker. Inspect and Expire are the test's own: the first looks into
// the database, the second is the time that passes.
const (
	Submit Action = "submit"
	Cancel Action = "cancel"
	Replay Action = "replay"
	Read   Action = "read"

	Claim   Action = "claim"
	Execute Action = "execute"
	Retry   Action = "retry"
	Fail    Action = "fail"

	// Inspect reads status, effects and ledger of a job in one snapshot.
	Inspect Action = "inspect"
	// Expire ends the lease of a running job.
	Expire Action = "expire"
)

// Event is one call with its answer.
type Event struct {
	// Call and Return are when it began and ended, in nanoseconds of one clock for all actors.
	Call, Return int64
	// Actor tells who made it.
	Actor int
	// Do is what was called.
	Do Action
	// Job is the job that the call named: a replay's source, a verdict's job. For a claim, the job that was leased.
	Job uuid.UUID
	// Key is the idempotency key of an owner's write, and Bytes names the payload of a submission or replay.
	Key, Bytes string
	// Reason is why a cancellation says that it was made.
	Reason string
	// Lease is the claim id that a verdict named or a claim was given.
	Lease uuid.UUID
	// Answer is what came back.
	Answer Answer
}

// Answer is what a call returned.
type Answer struct {
	// Refusal is the code of the problem, or "" when there was none.
	Refusal job.Code
	// Job is the representation that came with the acceptance or the refusal.
	Job *job.Job
	// Replayed tells that an earlier call under the same key did the work.
	Replayed bool
	// Matched tells that a verdict or an expiry found its row; a verdict that did not is stale.
	Matched bool
	// Attempt is the number of the attempt that a claim began, and Exhausted the number of jobs that it failed instead.
	Attempt, Exhausted int
	// Effects and Ledger are the numbers of rows that an inspection saw.
	Effects, Ledger int
}

// History is what happened to the jobs of one owner, from the first submission on.
type History struct {
	// Events may be in any order.
	Events []Event
	// MaxAttempts is the attempt limit of every claim.
	MaxAttempts int
	// Cut tells that connections of the owner's were cut. A cancellation whose first answer was lost is tried again inside
	// the service, and then tells of itself that it was replayed.
	Cut bool
}
