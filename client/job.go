package client

import (
	"time"

	"github.com/google/uuid"

	"fencepost/jobtype"
)

// Status is the place of a job in its life. The list is in package jobtype.
type Status = jobtype.Status

// Job is a job as the server described it. What does not apply is zero.
type Job struct {
	// ID names the job. Ids sort by the time of submission.
	ID uuid.UUID `json:"jobRecordId"`
	// Status is the job's place in its life.
	Status Status `json:"jobStatus"`
	// AttemptCount counts the executions so far.
	AttemptCount int `json:"attemptCount"`
	// RecordCount is the number of records in the batch.
	RecordCount int `json:"recordCount"`
	// FailureCode says why a FAILED job failed, in one word of a closed list.
	FailureCode string `json:"failureCode,omitempty"`
	// FailureSQLState is PostgreSQL's code of the error that the job failed with, and FailureCondition its name.
	FailureSQLState  string `json:"failureSqlState,omitempty"`
	FailureCondition string `json:"failureCondition,omitempty"`
	// FailureRecordOrdinal is the first record at which the batch began to fail, from 1 on, or 0 when that is not known.
	FailureRecordOrdinal int `json:"failureRecordOrdinal,omitempty"`
	// FailureConstraint is the name of the constraint that the records violate, where the operator lets names be told.
	FailureConstraint string `json:"failureConstraint,omitempty"`
	// AttemptStartedAt is when the latest attempt began.
	AttemptStartedAt time.Time `json:"attemptStartedAt,omitzero"`
	// CancellationCode says why a CANCELLED job was cancelled.
	CancellationCode string `json:"cancellationCode,omitempty"`
	// CancelledAt is when a CANCELLED job was cancelled.
	CancelledAt time.Time `json:"jobCancelledAt,omitzero"`
	Derivation
	// CreatedAt is when the job was submitted, in UTC with microseconds.
	CreatedAt time.Time `json:"createdAt"`
	// UpdatedAt is when the job last changed its status, in UTC with microseconds.
	UpdatedAt time.Time `json:"updatedAt"`
}

// Derivation says what a replay was made from. It is zero on a job that is no replay.
type Derivation struct {
	// SourceID is the failed or cancelled job that was replayed.
	SourceID uuid.UUID `json:"replaySourceJobRecordId,omitzero"`
	// RootID is the first job of the lineage.
	RootID uuid.UUID `json:"replayRootJobRecordId,omitzero"`
	// Generation counts the replays from the root to this job.
	Generation int `json:"replayGenerationCount,omitzero"`
}

// Accepted is the answer to a submission or a replay.
type Accepted struct {
	// ID names the job, the new one in the case of a replay.
	ID uuid.UUID `json:"jobRecordId"`
	// Status is the job's present status: PENDING unless the key had been used before.
	Status Status `json:"jobStatus"`
	// StatusURL is the path of the job.
	StatusURL string `json:"statusUrl"`
	Derivation
	// Replayed says that the same key had made this job before, perhaps in a lost attempt of the same call.
	Replayed bool `json:"idempotencyReplayed"`
}

// Cancelled is the answer to a cancellation.
type Cancelled struct {
	// Job is the job after its cancellation.
	Job
	// Replayed says that the same key had cancelled it before, perhaps in a lost attempt of the same call.
	Replayed bool `json:"idempotencyReplayed"`
}

// Filter says which jobs to list. The zero Filter takes all.
type Filter struct {
	// Statuses keeps the jobs in one of them; none keeps all.
	Statuses []Status
	// Replay keeps only replays, or with false only jobs that are none; nil keeps both.
	Replay *bool
	// PageSize is how many jobs to ask for at once, from 1 to 100; 0 leaves it to the server.
	PageSize int
}

// Lineage is a job's root and everything derived from it.
type Lineage struct {
	// RootID is the first job of the lineage.
	RootID uuid.UUID `json:"rootJobRecordId"`
	// JobID is the job that was asked for.
	JobID uuid.UUID `json:"jobRecordId"`
	// GenerationCount is the number of generations, the root's included.
	GenerationCount int `json:"generationCount"`
	// JobCount is the number of jobs, the root included.
	JobCount int `json:"jobCount"`
	// Jobs are the root and all replays, by generation and then by creation.
	Jobs []Job `json:"jobs"`
	// Edges are the derivations, in the order of the derived jobs.
	Edges []Edge `json:"edges"`
}

// Edge says that one job was derived from another.
type Edge struct {
	// SourceID is the job that was replayed.
	SourceID uuid.UUID `json:"sourceJobRecordId"`
	// DerivedID is the job that the replay made.
	DerivedID uuid.UUID `json:"derivedJobRecordId"`
	// Generation is that of the derived job.
	Generation int `json:"generation"`
}

// Attempt is one that did not end its job, or a worker that came back too late. The last attempt is told by the job itself.
type Attempt struct {
	// Number counts the attempts of the job, from 1 on.
	Number int `json:"attemptNumber"`
	// Outcome is how it ended: retried, lease_lost, load_closed or refused_late.
	Outcome string `json:"attemptOutcome"`
	// StartedAt and EndedAt are the database's times.
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
	// SQLState is PostgreSQL's code of the error that ended it, or "".
	SQLState string `json:"sqlState,omitempty"`
}
