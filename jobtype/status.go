package jobtype

import "slices"

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
