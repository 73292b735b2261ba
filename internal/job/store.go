package job

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// The errors that a [Store] may return beside a context's own. The service names each one as a problem of its operation.
var (
	// ErrNotFound means that the owner has no such job.
	ErrNotFound = errors.New("job not found")
	// ErrBusy means that a concurrent transaction held the row past the lock timeout. The call changed nothing.
	ErrBusy = errors.New("row is busy")
	// ErrUnavailable means that the database did not answer. Whether the call changed anything is unknown, and the
	// same call under the same key is safe.
	ErrUnavailable = errors.New("database unavailable")
)

// NewJob is a row to insert. Every identity in it is derived by the service, none by a client.
type NewJob struct {
	// Owner scopes the job.
	Owner Owner
	// ID is a fresh version 7 UUID.
	ID uuid.UUID
	// KeyHash is the identity of the submission or replay; an owner has at most one job for each.
	KeyHash Hash
	// Payload is the accepted batch.
	Payload Payload
}

// CancelResult is what a cancellation found.
type CancelResult struct {
	// Job is the row after the call.
	Job Job
	// Transitioned reports that this very call made the row CANCELLED.
	Transitioned bool
	// SameKey reports that the row is CANCELLED under the key of this call, and for the same reason.
	SameKey bool
}

// ReplayResult is what a replay found. Exactly one of its fields decides; they are listed in the order of precedence.
type ReplayResult struct {
	// Created is the job that this very call made.
	Created *Job
	// Earlier is the job that an earlier call made under the same key. SameIdentity tells whether that call named the
	// same source and the same bytes.
	Earlier      *Job
	SameIdentity bool
	// Source is the source that the database refused, and SameBytes whether the payload is the source's own.
	Source    Job
	SameBytes bool
}

// Page selects part of an ordered list, by its keyset.
type Page struct {
	// Limit is the greatest number of jobs to return.
	Limit int
	// After is the last job of the page before, or the zero position for the first page.
	After Position
}

// Position is the place of one job in an ordered list.
type Position struct {
	// Generation orders the jobs of a lineage; other lists ignore it.
	Generation int
	// ID is the job's id.
	ID uuid.UUID
}

// Filter narrows a list of an owner's jobs. The zero Filter keeps all of them.
type Filter struct {
	// Statuses keeps jobs in any of these, or in all when empty.
	Statuses []Status
	// Replay keeps only replays when true and only roots when false.
	Replay *bool
	// Unresolved, when true, keeps the failed and cancelled jobs of which no descendant is active or succeeded; when
	// false, all the others.
	Unresolved *bool
	// CreatedAfter and CreatedBefore are exclusive bounds of the time of creation.
	CreatedAfter, CreatedBefore *time.Time
}

// MaxCount is up to where jobs are counted.
const MaxCount = 10_000

// Count is a number of jobs.
type Count struct {
	// Jobs is the number, or [MaxCount] where there are more.
	Jobs int
	// AtLeast reports that there are more.
	AtLeast bool
}

// AttemptsAfter is the part of each job's attempts to return: at most Limit, after the one of a number and an outcome.
type AttemptsAfter struct {
	Limit, Number int
	Outcome       AttemptOutcome
}

// Store keeps the jobs. Each write is one conditional statement that the database decides; a read that follows a write
// which matched nothing only tells why, and never decides. All methods may return [ErrUnavailable].
type Store interface {
	// Submit inserts a PENDING root, or finds the job that already has its key. inserted tells which one it was, and
	// sameBytes whether the job found has the same digest. [ErrBusy] when a concurrent insert of the key is undecided.
	Submit(ctx context.Context, n NewJob) (j Job, inserted, sameBytes bool, err error)

	// Cancel makes a PENDING or RUNNING job CANCELLED: it clears payload and lease and sets the three cancellation
	// fields, of which the code is the reason. On any other job it changes nothing and returns the row as it is. [ErrNotFound];
	// [ErrBusy] when another transaction has the row.
	Cancel(ctx context.Context, owner Owner, id uuid.UUID, keyHash Hash, reason string) (CancelResult, error)

	// Replay inserts a PENDING job derived from a FAILED or CANCELLED source with the same digest and a generation
	// to spare. It never writes to the source. [ErrNotFound] when the owner has no such source; [ErrBusy] when the
	// source or the key is held by an undecided transaction.
	Replay(ctx context.Context, sourceID uuid.UUID, n NewJob) (ReplayResult, error)

	// Jobs returns those of the ids that the owner has, by id.
	Jobs(ctx context.Context, owner Owner, ids []uuid.UUID) (map[uuid.UUID]Job, error)

	// Attempts returns, for each of the ids that the owner has, attempts that did not end the job, by number and then by outcome.
	Attempts(ctx context.Context, owner Owner, ids []uuid.UUID, p AttemptsAfter) (map[uuid.UUID][]Attempt, error)

	// List returns the owner's jobs that pass the filter, newest first.
	List(ctx context.Context, owner Owner, f Filter, p Page) ([]Job, error)

	// CountByStatus counts the owner's jobs that pass the filter, of each status up to [MaxCount]. Statuses without a job may be missing.
	CountByStatus(ctx context.Context, owner Owner, f Filter) (map[Status]Count, error)

	// Replays returns, for each source, the jobs made directly from it in the order of their creation.
	Replays(ctx context.Context, owner Owner, sources []uuid.UUID, p Page) (map[uuid.UUID][]Job, error)

	// Lineages returns the whole lineage of each of the jobs that the owner has, by the id asked for. A lineage of
	// more than limit jobs is cut and says so. The number of statements does not grow with ids.
	Lineages(ctx context.Context, owner Owner, ids []uuid.UUID, limit int) (map[uuid.UUID]Lineage, error)

	// LineagePage returns one page of a job's lineage, by generation and then by creation. [ErrNotFound].
	LineagePage(ctx context.Context, owner Owner, id uuid.UUID, p Page) (LineageSummary, []Job, error)
}
