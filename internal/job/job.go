package job

import (
	"time"

	"github.com/google/uuid"

	"fencepost/jobtype"
)

// MaxGeneration is the highest generation that a replay may have (replay seed, "immutable lineage").
const MaxGeneration = 100

// Job is what an owner may see of one job. It carries no payload, key, digest or lease. The tags are the names that REST and its clients
// know the members by; what is not there is left out, never null.
type Job struct {
	// ID is a version 7 UUID, so ids sort by the time of their submission.
	ID uuid.UUID `json:"jobRecordId"`
	// Status is the job's place in its life.
	Status Status `json:"jobStatus"`
	// AttemptCount counts the claims so far.
	AttemptCount int `json:"attemptCount"`
	// RecordCount is the number of records in the payload.
	RecordCount int `json:"recordCount"`
	// FailureCode is set exactly when Status is FAILED.
	FailureCode FailureCode `json:"failureCode,omitempty"`
	// FailureSQLState is PostgreSQL's code of the error that the job failed with (its documentation, appendix A), or "" when it did not
	// fail, or not by an error of the database.
	FailureSQLState string `json:"failureSqlState,omitempty"`
	// FailureRecordOrdinal is the first record at which the batch began to fail, from 1 on, or 0 when that is not known.
	FailureRecordOrdinal int `json:"failureRecordOrdinal,omitempty"`
	// FailureConstraint is the name of the violated constraint, where the operator lets names be told; else "".
	FailureConstraint string `json:"failureConstraint,omitempty"`
	// CancellationCode is why, set exactly when Status is CANCELLED.
	CancellationCode string `json:"cancellationCode,omitempty"`
	// CancelledAt is set exactly when Status is CANCELLED, and zero otherwise.
	CancelledAt time.Time `json:"jobCancelledAt,omitzero"`
	// Derivation is nil on a root, and says what a replay was made from.
	*Derivation
	// CreatedAt is the database's time of the submission or replay, in UTC with microseconds.
	CreatedAt time.Time `json:"createdAt"`
	// AttemptStartedAt is the database's time of the latest claim, in UTC with microseconds, or zero before the first.
	AttemptStartedAt time.Time `json:"attemptStartedAt,omitzero"`
	// UpdatedAt is the database's time of the latest change of status, in UTC with microseconds.
	UpdatedAt time.Time `json:"updatedAt"`
}

// Derivation is the immutable lineage of a replay.
type Derivation struct {
	// SourceID is the FAILED or CANCELLED job that was replayed.
	SourceID uuid.UUID `json:"replaySourceJobRecordId"`
	// RootID is the first job of the lineage.
	RootID uuid.UUID `json:"replayRootJobRecordId"`
	// Generation is the source's plus one: 1 for a replay of the root, at most [MaxGeneration].
	Generation int `json:"replayGenerationCount"`
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

// FailureCondition is the name that PostgreSQL has for FailureSQLState, or "".
func (j Job) FailureCondition() string { return jobtype.ConditionOf(j.FailureSQLState) }

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
