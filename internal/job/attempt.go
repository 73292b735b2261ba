package job

import (
	"context"
	"time"

	"github.com/google/uuid"
)

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
	Number int `json:"attemptNumber"`
	// Outcome is how it ended.
	Outcome AttemptOutcome `json:"attemptOutcome"`
	// StartedAt and EndedAt are the database's times, in UTC with microseconds.
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
	// SQLState is PostgreSQL's code of the error that ended it, or "".
	SQLState string `json:"sqlState,omitempty"`
}

// AttemptPage is one page of the attempts of a job.
type AttemptPage struct {
	// Attempts is the page, at most as long as the limit, by number. Of one number, a worker that was refused late comes last.
	Attempts []Attempt
	// More reports that there are further attempts behind the page.
	More bool
	// scope binds the page's cursors to the job.
	scope cursorScope
}

// Cursor is the opaque place of one of the page's attempts; the next page comes after it.
func (p AttemptPage) Cursor(a Attempt) string { return p.scope.encodeAttempt(a) }

// Next is the cursor of the page's last attempt when there is more, and empty otherwise.
func (p AttemptPage) Next() string {
	if !p.More {
		return ""
	}
	return p.Cursor(p.Attempts[len(p.Attempts)-1])
}

// AttemptsOf returns a page of the attempts of one job of the owner, or [CodeJobNotFound].
func (s *Service) AttemptsOf(ctx context.Context, owner Owner, id string, r PageRequest) (AttemptPage, error) {
	jobID := parseID(id)
	pages, err := s.Attempts(ctx, owner, []uuid.UUID{jobID}, r)
	if err != nil {
		return AttemptPage{}, err
	}
	_, err = s.Get(ctx, owner, id)
	return pages[jobID], err
}

// Attempts returns, for each of the jobs that the owner has, a page of the attempts that did not end it. A cursor belongs to one job, so
// it can only be used with a single one.
func (s *Service) Attempts(ctx context.Context, owner Owner, ids []uuid.UUID, r PageRequest) (map[uuid.UUID]AttemptPage, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	page, err := attemptsScope(ids[0]).attemptsPage(r)
	if err != nil {
		return nil, err
	}
	attempts, err := s.store.Attempts(ctx, owner, ids, page)
	if err != nil {
		return nil, refusal(reading, err)
	}
	pages := make(map[uuid.UUID]AttemptPage, len(ids))
	for _, id := range ids {
		of := attempts[id]
		pages[id] = AttemptPage{Attempts: of[:min(r.Limit, len(of))], More: len(of) > r.Limit, scope: attemptsScope(id)}
	}
	return pages, nil
}

// attemptsPage validates a request and asks for one attempt more than its limit.
func (s cursorScope) attemptsPage(r PageRequest) (AttemptsAfter, error) {
	if err := r.checkLimit(); err != nil {
		return AttemptsAfter{}, err
	}
	after, err := s.decodeAttempt(r.Cursor)
	return AttemptsAfter{Limit: r.Limit + 1, Number: after.Number, Outcome: after.Outcome}, err
}
