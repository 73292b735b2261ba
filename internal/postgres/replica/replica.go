// Package replica reads lists and lineages on a hot standby, when that is as current as the primary.
package replica

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

// recheck is the pause between two looks at how far the replica is.
const recheck = time.Millisecond

var caughtUp = statements.Named("caught up")

// The ways that a read which may go to the replica can go. In all but the first the primary was read instead.
const (
	// Served means that the replica was current and answered.
	Served = "served"
	// Late means that the replica did not answer, or did not catch up with the primary, in time.
	Late = "late"
	// Failed means that the replica could not be reached, or that the read failed there.
	Failed = "failed"
	// Resting means that the replica was not tried, since it was late or had failed just before.
	Resting = "resting"
)

// Outcomes lists these ways.
var Outcomes = []string{Served, Late, Failed, Resting}

// Store is a [postgres.Store] that reads lists and lineages on a replica: a hot standby of its database. Such a read sees
// every write that was acknowledged, to anybody and by any process, before it began; so it says what the primary would
// have said. When the replica cannot do that in time, the primary is read, and the replica is left alone for a second.
type Store struct {
	*postgres.Store
	replica *pgxpool.Pool
	observe func(outcome string)
	// patience is how long a read waits for the replica to answer and to catch up, before it goes to the primary.
	patience time.Duration
	// rest is how long all reads go to the primary after one that the replica could not serve.
	rest time.Duration
	// restUntil is the time, in nanoseconds of Unix time, until which the replica is left alone; 0 while it serves.
	restUntil atomic.Int64
}

var _ job.Store = (*Store)(nil)

// New adds a replica to a store. The pool stays the caller's to close; each of its connections must stay with
// one server. observe is told once how each read of a list or a lineage went.
func New(primary *postgres.Store, replica *pgxpool.Pool, observe func(outcome string)) *Store {
	return &Store{Store: primary, replica: replica, observe: observe, patience: 100 * time.Millisecond, rest: time.Second}
}

// List implements job.Store.
func (r *Store) List(ctx context.Context, owner job.Owner, f job.Filter, p job.Page) ([]job.Job, error) {
	return current(ctx, r, func(r postgres.Reader) ([]job.Job, error) { return r.List(ctx, owner, f, p) })
}

// CountByStatus implements job.Store.
func (r *Store) CountByStatus(ctx context.Context, owner job.Owner, f job.Filter) (map[job.Status]job.Count, error) {
	return current(ctx, r, func(r postgres.Reader) (map[job.Status]job.Count, error) { return r.CountByStatus(ctx, owner, f) })
}

// Replays implements job.Store.
func (r *Store) Replays(
	ctx context.Context, owner job.Owner, sources []uuid.UUID, p job.Page,
) (map[uuid.UUID][]job.Job, error) {
	return current(ctx, r, func(r postgres.Reader) (map[uuid.UUID][]job.Job, error) { return r.Replays(ctx, owner, sources, p) })
}

// Lineages implements job.Store. All of its statements go to the same server.
func (r *Store) Lineages(
	ctx context.Context, owner job.Owner, ids []uuid.UUID, limit int,
) (map[uuid.UUID]job.Lineage, error) {
	return current(ctx, r, func(r postgres.Reader) (map[uuid.UUID]job.Lineage, error) { return r.Lineages(ctx, owner, ids, limit) })
}

// LineagePage implements job.Store. Its total and its jobs come from the same server.
func (r *Store) LineagePage(
	ctx context.Context, owner job.Owner, id uuid.UUID, p job.Page,
) (summary job.LineageSummary, jobs []job.Job, err error) {
	jobs, err = current(ctx, r, func(r postgres.Reader) (page []job.Job, err error) {
		summary, page, err = r.LineagePage(ctx, owner, id, p)
		return page, err
	})
	return summary, jobs, err
}

// current makes one read on the replica if that is current, and on the primary otherwise.
func current[T any](ctx context.Context, r *Store, read func(postgres.Reader) (T, error)) (T, error) {
	if !r.admits(time.Now()) {
		r.observe(Resting)
		return read(r.Reader)
	}
	position, err := r.Position(ctx)
	if err != nil {
		var none T
		return none, err
	}
	value, err := onReplica(ctx, r, position, read)
	outcome := outcomeOf(err)
	if outcome != Served && ctx.Err() != nil {
		return value, ctx.Err() // the caller gave up, which says nothing about the replica
	}
	r.note(outcome)
	if outcome != Served {
		return read(r.Reader)
	}
	return value, err
}

// onReplica makes one read on the replica, once that is at a position.
func onReplica[T any](ctx context.Context, r *Store, position string, read func(postgres.Reader) (T, error)) (T, error) {
	conn, err := r.acquire(ctx, position)
	if err != nil {
		var none T
		return none, err
	}
	defer conn.Release()
	return read(r.On(conn)) // in half of the time, so that the primary has the other half
}

// outcomeOf names how a read on the replica went. That there is no such job is an answer.
func outcomeOf(err error) string {
	switch {
	case err == nil || errors.Is(err, job.ErrNotFound):
		return Served
	case errors.Is(err, context.DeadlineExceeded):
		return Late
	default:
		return Failed
	}
}

// admits reports whether a read may try the replica. While that rests, one read tries it each time that a rest is over.
func (r *Store) admits(now time.Time) bool {
	until := r.restUntil.Load()
	return until == 0 || now.UnixNano() >= until && r.restUntil.CompareAndSwap(until, now.Add(r.rest).UnixNano())
}

// note ends the replica's rest, or begins one.
func (r *Store) note(outcome string) {
	var until int64
	if outcome != Served {
		until = time.Now().Add(r.rest).UnixNano()
	}
	r.restUntil.Store(until)
	r.observe(outcome)
}

// acquire takes a connection to the replica, once that has replayed the log up to a position.
func (r *Store) acquire(ctx context.Context, position string) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	conn, err := r.replica.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if err := catchUp(ctx, conn, position); err != nil {
		conn.Release()
		return nil, err
	}
	return conn, nil
}

// catchUp waits until the replica has replayed the log up to a position.
func catchUp(ctx context.Context, conn *pgxpool.Conn, position string) error {
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		var yes bool
		err := db.Send(ctx, conn, db.Row(caughtUp, statements.Args{"position": position}, func(row pgx.Row) error { return row.Scan(&yes) }))
		if err != nil || yes {
			return err
		}
		<-tick.C // an end of ctx is seen by the next look
	}
}
