package rest

import (
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// statusRepresentation is a job as its owner sees it. Members that do not apply are left out, never null.
type statusRepresentation struct {
	JobRecordID      uuid.UUID       `json:"jobRecordId"`
	JobStatus        job.Status      `json:"jobStatus"`
	AttemptCount     int             `json:"attemptCount"`
	RecordCount      int             `json:"recordCount"`
	FailureCode      job.FailureCode `json:"failureCode,omitempty"`
	CancellationCode string          `json:"cancellationCode,omitempty"`
	JobCancelledAt   string          `json:"jobCancelledAt,omitempty"`
	*derivation
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt"`
}

// acceptedRepresentation is what a client needs to follow a job that was just made.
type acceptedRepresentation struct {
	JobRecordID uuid.UUID  `json:"jobRecordId"`
	JobStatus   job.Status `json:"jobStatus"`
	StatusURL   string     `json:"statusUrl"`
	*derivation
}

// derivation is what only a replay has.
type derivation struct {
	ReplaySourceJobRecordID uuid.UUID `json:"replaySourceJobRecordId"`
	ReplayRootJobRecordID   uuid.UUID `json:"replayRootJobRecordId"`
	ReplayGenerationCount   int       `json:"replayGenerationCount"`
}

func newStatus(j job.Job) statusRepresentation {
	return statusRepresentation{
		JobRecordID:      j.ID,
		JobStatus:        j.Status,
		AttemptCount:     j.AttemptCount,
		RecordCount:      j.RecordCount,
		FailureCode:      j.FailureCode,
		CancellationCode: j.CancellationCode,
		JobCancelledAt:   timestamp(j.CancelledAt),
		derivation:       newDerivation(j),
		CreatedAt:        timestamp(j.CreatedAt),
		UpdatedAt:        timestamp(j.UpdatedAt),
	}
}

// newStatuses represents a page. It is never nil, so that an empty page is an empty array.
func newStatuses(jobs []job.Job) []statusRepresentation {
	statuses := make([]statusRepresentation, len(jobs))
	for i, j := range jobs {
		statuses[i] = newStatus(j)
	}
	return statuses
}

func newAccepted(j job.Job) acceptedRepresentation {
	return acceptedRepresentation{JobRecordID: j.ID, JobStatus: j.Status, StatusURL: statusURL(j), derivation: newDerivation(j)}
}

func newDerivation(j job.Job) *derivation {
	d := j.Derivation
	if d == nil {
		return nil
	}
	return &derivation{ReplaySourceJobRecordID: d.SourceID, ReplayRootJobRecordID: d.RootID, ReplayGenerationCount: d.Generation}
}

func statusURL(j job.Job) string { return jobsPath + "/" + j.ID.String() }

// timestamp is RFC 3339 in UTC with all six digits of the database's microseconds; no time is no text.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}
