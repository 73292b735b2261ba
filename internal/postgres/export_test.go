package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

// What the tests, which are a package of their own, have to see of the inside.

// ManyReads is how many reads that wait get a second statement.
const ManyReads = manyReads

// LoadError is what an execution makes of an error.
func LoadError(err error) error { return (&Store{}).loadError(err) }

// ScanClaim reads a lease from a row of "claim".
var ScanClaim = scanClaim

// ScanJob reads a job from a row of its columns.
func ScanJob(row pgx.CollectableRow) (job.Job, error) { return statements.ScanJob(row) }

// A Cancellation is one of those that share a statement.
type Cancellation = cancellation

// NewCancellation makes one for a reason.
func NewCancellation(owner job.Owner, id uuid.UUID, keyHash job.Hash, reason string) Cancellation {
	return cancellation{jobKey{owner, id}, keyHash, reason}
}

// The statements of calls that come together, for calls that a test has chosen.
var (
	ShareCancellation = (*Store).shareCancellation
	ShareExecution    = (*Store).shareExecution
)

// The numbers of calls that wait to share a statement.
func (s *Store) WaitingReads() int         { return s.reads.Waiting() }
func (s *Store) WaitingSubmissions() int   { return s.submissions.Waiting() }
func (s *Store) WaitingCancellations() int { return s.cancellations.Waiting() }
func (s *Store) WaitingExecutions() int    { return s.executions.Waiting() }

// Alone carries out a write alone, in a store that has no database.
func Alone(lockTimeout time.Duration) func(ctx context.Context, thing any, try func(context.Context, time.Duration) error) error {
	s := &Store{db: db.New(nil, time.Hour), config: Config{LockTimeout: lockTimeout}, contended: newContended()}
	return func(ctx context.Context, thing any, try func(context.Context, time.Duration) error) error {
		return s.alone(ctx, "write", thing, try)
	}
}

// Contended reports whether the key of a job is known to be held.
func Contended(s *Store, n job.NewJob) bool { return s.contended.has(keyOf(n)) }
