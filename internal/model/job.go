package model

import (
	"github.com/google/uuid"

	"fencepost/internal/job"
)

// jobState is all that matters of one job between two calls.
type jobState struct {
	status   job.Status // "" before the job exists
	attempts int
	failure  job.FailureCode
	// cancelledUnder is the key of the cancellation, and reason what it said.
	cancelledUnder, reason string
	// lease is the claim id of a RUNNING job, and expired tells that its time is over.
	lease   uuid.UUID
	expired bool
}

func (s jobState) active() bool {
	return s.status == job.StatusPending || s.status == job.StatusRunning
}

// due tells that a claim may take the job.
func (s jobState) due() bool {
	return s.status == job.StatusPending || s.status == job.StatusRunning && s.expired
}

// moved is the state after a move, without the lease.
func (s jobState) moved(to job.Status) jobState {
	s.status, s.lease, s.expired = to, uuid.Nil, false
	return s
}

// shows tells that a representation is one of the job in this state.
func (s jobState) shows(j *job.Job) bool {
	return j != nil && j.Status == s.status && j.AttemptCount == s.attempts && j.FailureCode == s.failure &&
		j.CancellationCode == s.reason
}

// cancelledBy tells that the job was cancelled under the key of a cancellation, for its reason.
func (s jobState) cancelledBy(e Event) bool {
	return s.status == job.StatusCancelled && s.cancelledUnder == e.Key && s.reason == e.Reason
}

// A step tells what one call did to one object: the states that it may be in afterwards, or none when the answer can't have
// been given in this state.
type step[S any] func(S) []S

// only is the outcome of a step that leaves one state, if the answer was possible.
func only[S any](s S, possible bool) []S {
	if possible {
		return []S{s}
	}
	return nil
}

// jobSteps lists what an event says about single jobs.
func (h History) jobSteps(e Event) map[uuid.UUID]step[jobState] {
	switch e.Do {
	case Submit:
		return h.appearance(e)
	case Replay:
		steps := h.appearance(e)
		if e.Answer.Refusal != job.CodeReplayKeyReused {
			steps[e.Job] = e.replaySource
		}
		return steps
	case Cancel:
		return map[uuid.UUID]step[jobState]{e.Job: h.cancel(e)}
	case Claim:
		return map[uuid.UUID]step[jobState]{e.Job: h.claim(e)}
	case Read:
		return map[uuid.UUID]step[jobState]{e.Job: func(s jobState) []jobState { return only(s, s.shows(e.Answer.Job)) }}
	case Inspect:
		return map[uuid.UUID]step[jobState]{e.Job: e.inspect}
	case Expire:
		return map[uuid.UUID]step[jobState]{e.Job: e.expire}
	default:
		return map[uuid.UUID]step[jobState]{e.Job: e.verdict}
	}
}

// appearance is what a submission or replay says about the job that its key stands for.
func (h History) appearance(e Event) map[uuid.UUID]step[jobState] {
	j := e.Answer.Job
	if j == nil || e.Answer.Refusal != "" && e.Do == Replay && e.Answer.Refusal != job.CodeReplayKeyReused {
		return map[uuid.UUID]step[jobState]{}
	}
	return map[uuid.UUID]step[jobState]{j.ID: func(s jobState) []jobState {
		made := e.Answer.Refusal == "" && !e.Answer.Replayed
		if made != (s.status == "") {
			return nil
		}
		if made {
			s.status = job.StatusPending
		}
		return only(s, s.shows(j))
	}}
}

// replaySource is what a replay says about its source.
func (e Event) replaySource(s jobState) []jobState {
	replayable := s.status == job.StatusFailed || s.status == job.StatusCancelled
	switch e.Answer.Refusal {
	case "", job.CodeReplayPayloadMismatch, job.CodeReplayGenerationExhausted:
		return only(s, replayable)
	case job.CodeReplaySourceActive:
		return only(s, s.active() && s.shows(e.Answer.Job))
	case job.CodeReplaySourceSucceeded:
		return only(s, s.status == job.StatusSucceeded && s.shows(e.Answer.Job))
	default:
		return only(s, e.Answer.Refusal == job.CodeReplayInProgress)
	}
}

// cancel is what a cancellation does: it ends an active job, and finds any other one as it is.
func (h History) cancel(e Event) step[jobState] {
	return func(s jobState) []jobState {
		switch e.Answer.Refusal {
		case "":
			if s.active() && (!e.Answer.Replayed || h.Cut) {
				s = s.moved(job.StatusCancelled)
				s.cancelledUnder, s.reason = e.Key, e.Reason
				return only(s, s.shows(e.Answer.Job))
			}
			return only(s, e.Answer.Replayed && s.cancelledBy(e) && s.shows(e.Answer.Job))
		case job.CodeAlreadySucceeded:
			return only(s, s.status == job.StatusSucceeded && s.shows(e.Answer.Job))
		case job.CodeAlreadyFailed:
			return only(s, s.status == job.StatusFailed && s.shows(e.Answer.Job))
		case job.CodeCancellationKeyReused:
			return only(s, s.status == job.StatusCancelled && !s.cancelledBy(e) && s.shows(e.Answer.Job))
		default:
			return only(s, e.Answer.Refusal == job.CodeCancellationInProgress)
		}
	}
}

// claim is what a lease says: the job was due and had an attempt left, and the lease is a new one.
func (h History) claim(e Event) step[jobState] {
	return func(s jobState) []jobState {
		possible := s.due() && e.Lease != s.lease && s.attempts < h.MaxAttempts && e.Answer.Attempt == s.attempts+1
		s = s.moved(job.StatusRunning)
		s.attempts, s.lease = e.Answer.Attempt, e.Lease
		return only(s, possible)
	}
}

// exhaust is what a claim may have done to any job whose attempts were used up.
func (h History) exhaust(s jobState) []jobState {
	if !s.due() || s.attempts < h.MaxAttempts {
		return []jobState{s}
	}
	failed := s.moved(job.StatusFailed)
	failed.failure = job.FailureAttemptsExhausted
	return []jobState{s, failed}
}

// verdicts are what workers move jobs to.
var verdicts = map[Action]job.Status{
	Execute: job.StatusSucceeded,
	Retry:   job.StatusPending,
	Fail:    job.StatusFailed,
}

// verdict is what a worker's verdict does: it moves the job under its exact live lease, and otherwise it is stale.
func (e Event) verdict(s jobState) []jobState {
	live := s.status == job.StatusRunning && s.lease == e.Lease && !s.expired
	if !e.Answer.Matched {
		return only(s, !live)
	}
	s = s.moved(verdicts[e.Do])
	if s.status == job.StatusFailed {
		s.failure = job.FailureTarget
	}
	return only(s, live)
}

// expire ends the lease of a running job.
func (e Event) expire(s jobState) []jobState {
	running := s.status == job.StatusRunning
	s.expired = running
	return only(s, e.Answer.Matched == running)
}

// inspect finds effects and a ledger row exactly on a SUCCEEDED job.
func (e Event) inspect(s jobState) []jobState {
	effects, ledger := 0, 0
	if s.status == job.StatusSucceeded {
		effects, ledger = e.Answer.Job.RecordCount, 1
	}
	return only(s, e.Answer.Job.Status == s.status && e.Answer.Effects == effects && e.Answer.Ledger == ledger)
}
