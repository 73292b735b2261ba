package model

import (
	"github.com/google/uuid"

	"fencepost/internal/job"
)

// keyState is what an idempotency key of a submission or replay stands for: nothing yet, or one identity and its job.
type keyState struct {
	job uuid.UUID
	// source (of a replay) and bytes are the identity.
	source uuid.UUID
	bytes  string
}

// keyName tells the keys of submissions and replays apart.
func (e Event) keyName() string { return string(e.Do) + " " + e.Key }

// useKey is what a submission or replay says about its key: the first one to be accepted binds it, every later one with the
// same identity gets the same job, and any other is refused.
func (e Event) useKey(k keyState) []keyState {
	bound := k.job != uuid.Nil
	same := k.source == e.Job && k.bytes == e.Bytes
	switch e.Answer.Refusal {
	case "":
		if !bound {
			return only(keyState{e.Answer.Job.ID, e.Job, e.Bytes}, !e.Answer.Replayed)
		}
		return only(k, same && e.Answer.Replayed && e.Answer.Job.ID == k.job)
	case job.CodeSubmissionKeyReused, job.CodeReplayKeyReused:
		return only(k, bound && !same && e.Answer.Job.ID == k.job)
	case job.CodeSubmissionInProgress, job.CodeReplayInProgress:
		return only(k, true)
	default:
		return only(k, !bound) // the source was refused, which a key that is taken would have come before
	}
}
