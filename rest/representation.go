package rest

import (
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// statusRepresentation is a job as its owner sees it: all that a job.Job has a name on the wire for, with its times in full.
type statusRepresentation struct {
	*job.Job
	CreatedAt        string `json:"createdAt"`
	UpdatedAt        string `json:"updatedAt"`
	JobCancelledAt   string `json:"jobCancelledAt,omitempty"`
	AttemptStartedAt string `json:"attemptStartedAt,omitempty"`
	FailureCondition string `json:"failureCondition,omitempty"`
}

// acceptedRepresentation is what a client needs to follow a job that was just made.
type acceptedRepresentation struct {
	JobRecordID uuid.UUID  `json:"jobRecordId"`
	JobStatus   job.Status `json:"jobStatus"`
	StatusURL   string     `json:"statusUrl"`
	*job.Derivation
}

func newStatus(j *job.Job) statusRepresentation {
	return statusRepresentation{
		Job: j, CreatedAt: timestamp(j.CreatedAt), UpdatedAt: timestamp(j.UpdatedAt), JobCancelledAt: timestamp(j.CancelledAt),
		AttemptStartedAt: timestamp(j.AttemptStartedAt), FailureCondition: j.FailureCondition(),
	}
}

// newStatuses represents a page. It is never nil, so that an empty page is an empty array.
func newStatuses(jobs []job.Job) []statusRepresentation {
	statuses := make([]statusRepresentation, len(jobs))
	for i := range jobs {
		statuses[i] = newStatus(&jobs[i])
	}
	return statuses
}

func newAccepted(j job.Job) acceptedRepresentation {
	return acceptedRepresentation{JobRecordID: j.ID, JobStatus: j.Status, StatusURL: statusURL(j), Derivation: j.Derivation}
}

func statusURL(j job.Job) string { return jobsPath + "/" + j.ID.String() }

// timestamp is a time as text; no time is no text.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return job.FormatTime(t)
}
