package job

import "time"

// AttemptOutcome says how an attempt ended that did not end its job.
type AttemptOutcome string

// The outcomes of attempts.
const (
	// AttemptRetried: a fault that may pass ended it.
	AttemptRetried AttemptOutcome = "retried"
	// AttemptLeaseLost: its lease expired, and another worker took the job, or the limit of attempts ended it.
	AttemptLeaseLost AttemptOutcome = "lease_lost"
	// AttemptLoadClosed: the load or its target was at fault, so the job was given back.
	AttemptLoadClosed AttemptOutcome = "load_closed"
	// AttemptRefusedLate: its worker came back after a cancellation or an expired lease, and the fence turned it away.
	AttemptRefusedLate AttemptOutcome = "refused_late"
)

// AttemptOutcomes lists every outcome.
var AttemptOutcomes = []AttemptOutcome{AttemptRetried, AttemptLeaseLost, AttemptLoadClosed, AttemptRefusedLate}

// Attempt is one that did not lead to its job's end. The last one is told by the job itself.
type Attempt struct {
	// Number counts the claims of the job, from 1 on.
	Number int
	// Outcome is how it ended.
	Outcome AttemptOutcome
	// StartedAt and EndedAt are the database's times, in UTC with microseconds.
	StartedAt, EndedAt time.Time
	// SQLState is PostgreSQL's code of the error that ended it, or "".
	SQLState string
}
