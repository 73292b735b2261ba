package job

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Status is the place of a job in its life. The values are the ones on the wire and in the database.
type Status string

// The statuses of a job. The last three are terminal.
const (
	// StatusPending waits for a worker, for the first time or for a retry.
	StatusPending Status = "PENDING"
	// StatusRunning is held by one worker under a lease.
	StatusRunning Status = "RUNNING"
	// StatusSucceeded means that the effects of the job are committed, exactly once.
	StatusSucceeded Status = "SUCCEEDED"
	// StatusFailed means that the job ended with a [FailureCode] and that none of its effects remain.
	StatusFailed Status = "FAILED"
	// StatusCancelled means that the owner's cancellation won and that none of the job's effects remain.
	StatusCancelled Status = "CANCELLED"
)

// Statuses lists every status in the order of a job's life.
var Statuses = []Status{StatusPending, StatusRunning, StatusSucceeded, StatusFailed, StatusCancelled}

// transitions is the whole state machine: from each status, the statuses that one statement may set.
var transitions = map[Status][]Status{
	StatusPending: {StatusRunning, StatusFailed, StatusCancelled},
	StatusRunning: {StatusPending, StatusRunning, StatusSucceeded, StatusFailed, StatusCancelled},
}

// Valid reports whether s is one of the five statuses, spelled exactly.
func (s Status) Valid() bool { return slices.Contains(Statuses, s) }

// Terminal reports whether s is final: nothing ever changes a job in it.
func (s Status) Terminal() bool { return s.Valid() && len(transitions[s]) == 0 }

// CanBecome reports whether the state machine allows a step from s to next.
func (s Status) CanBecome(next Status) bool { return slices.Contains(transitions[s], next) }

// FailureCode says in one word why a job is FAILED. The list is closed; nothing else is ever stored.
type FailureCode string

// The failure codes (contract section 8).
const (
	// FailureTargetUnavailable: the target could not be reached or was busy. It is retried to the attempt limit.
	FailureTargetUnavailable FailureCode = "etl_target_unavailable"
	// FailureTarget: the target refused the records (constraint, type, permission). It is final at once.
	FailureTarget FailureCode = "etl_target_failure"
	// FailureIntegrity: the stored payload no longer has its digest, or the job's effects are already in the ledger.
	FailureIntegrity FailureCode = "etl_job_integrity_failure"
	// FailureAttemptsExhausted: every allowed attempt ended without a result.
	FailureAttemptsExhausted FailureCode = "etl_worker_attempts_exhausted"
	// FailureInternal: the worker itself failed.
	FailureInternal FailureCode = "etl_internal_error"
)

// CancellationByOwner is the cancellation code of a job that its owner cancelled, at present the only one.
const CancellationByOwner = "etl_job_cancelled_by_owner"

// MaxGeneration is the highest generation that a replay may have (replay seed, "immutable lineage").
const MaxGeneration = 100

// Job is what an owner may see of one job. It carries no payload, key, digest or lease.
type Job struct {
	// ID is a version 7 UUID, so ids sort by the time of their submission.
	ID uuid.UUID
	// Status is the job's place in its life.
	Status Status
	// AttemptCount counts the claims so far.
	AttemptCount int
	// RecordCount is the number of records in the payload.
	RecordCount int
	// FailureCode is set exactly when Status is FAILED.
	FailureCode FailureCode
	// FailureSQLState is PostgreSQL's code of the error that the job failed with (its documentation, appendix A), or "" when it did not
	// fail, or not by an error of the database.
	FailureSQLState string
	// FailureRecordOrdinal is the first record at which the batch began to fail, from 1 on, or 0 when that is not known.
	FailureRecordOrdinal int
	// FailureConstraint is the name of the violated constraint, where the operator lets names be told; else "".
	FailureConstraint string
	// CancellationCode is set exactly when Status is CANCELLED.
	CancellationCode string
	// CancelledAt is set exactly when Status is CANCELLED, and zero otherwise.
	CancelledAt time.Time
	// Derivation is nil on a root, and says what a replay was made from.
	Derivation *Derivation
	// CreatedAt is the database's time of the submission or replay, in UTC with microseconds.
	CreatedAt time.Time
	// AttemptStartedAt is the database's time of the latest claim, in UTC with microseconds, or zero before the first.
	AttemptStartedAt time.Time
	// UpdatedAt is the database's time of the latest change of status, in UTC with microseconds.
	UpdatedAt time.Time
}

// Derivation is the immutable lineage of a replay.
type Derivation struct {
	// SourceID is the FAILED or CANCELLED job that was replayed.
	SourceID uuid.UUID
	// RootID is the first job of the lineage.
	RootID uuid.UUID
	// Generation is the source's plus one: 1 for a replay of the root, at most [MaxGeneration].
	Generation int
}

// RootID is the first job of j's lineage: j itself when it is no replay.
func (j Job) RootID() uuid.UUID {
	if j.Derivation == nil {
		return j.ID
	}
	return j.Derivation.RootID
}

// Generation is 0 on a root and counts the replays between the root and j otherwise.
func (j Job) Generation() int {
	if j.Derivation == nil {
		return 0
	}
	return j.Derivation.Generation
}

// CancelProblem is the refusal that a cancellation under a new key would meet now, or "" when it would win.
func (j Job) CancelProblem() Code {
	switch j.Status {
	case StatusSucceeded:
		return CodeAlreadySucceeded
	case StatusFailed:
		return CodeAlreadyFailed
	case StatusCancelled:
		return CodeCancellationKeyReused
	default:
		return ""
	}
}

// ReplayProblem is the refusal that a replay with the right bytes would meet now, or "" when it would be made.
func (j Job) ReplayProblem() Code {
	switch {
	case j.Status == StatusSucceeded:
		return CodeReplaySourceSucceeded
	case !j.Status.Terminal():
		return CodeReplaySourceActive
	case j.Generation() >= MaxGeneration:
		return CodeReplayGenerationExhausted
	default:
		return ""
	}
}
