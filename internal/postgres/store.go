// Package postgres keeps jobs in PostgreSQL. It implements job.Store and worker.Queue, a verb a file; the statements of each are in
// the file of the same name in the folder statements.
//
// Every transition is one conditional statement whose row count is the verdict. It is over arrays: requests that come at the same time
// share it, each with a row of its own in the answer, or none, and one on its own is an array of one. When it matched nothing, a second
// statement, with a snapshot of its own, reads why; a common table expression in the same statement would still see the state from
// before a lock was waited for. Lease and retry decisions use clock_timestamp(), since now() stands still inside a transaction and would
// let an expired lease pass.
package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/notice"
	"fencepost/internal/worker"
)

// Config sets the bounds of a [Store].
type Config struct {
	// LockTimeout is how long a write waits in all for what another transaction holds.
	LockTimeout time.Duration
	// CallTimeout is how long one call may take in all, waiting for a connection included.
	CallTimeout time.Duration
	// Listen is how to connect the listener for notices, which needs a session of its own and so can't go through a pooler
	// that shares them. Nil means like the pool.
	Listen *pgx.ConnConfig
	// Load is what a job does with its records. The zero Load is [BuiltinLoad].
	Load Load
	// Reload reads the load again, where that may change while the store is at work. It replaces Load once it fits the database.
	Reload func() (Load, error)
	// Loads is where a load of the operator's own runs, and leaves nothing of a session behind; see [db.OpenLoads]. Nil means the pool.
	Loads *pgxpool.Pool
	// Unavailable is told of each call that found the database unavailable, where it is not nil: the SQLSTATE, or "" when no server
	// answered.
	Unavailable func(sqlState string)
	// ExplainNames lets owners see the names of constraints that their records violate.
	ExplainNames bool
}

// Store implements job.Store and worker.Queue on a pool of connections. It keeps no state of its own about jobs.
type Store struct {
	Reader
	db      db.DB // of all but the reader
	pool    *pgxpool.Pool
	config  Config
	load    atomic.Pointer[Load]
	notices *notice.Sender
	// What is asked for at the same time shares statements.
	reads         *batch.Gatherer[jobKey, job.Job]
	submissions   *batch.Gatherer[newJob, job.Job]
	cancellations *batch.Gatherer[cancellation, job.Job]
	executions    *batch.Gatherer[worker.Lease, worker.Lease]
	// What can't be done together takes turns.
	contended contended
}

var (
	_ job.Store    = (*Store)(nil)
	_ worker.Queue = (*Store)(nil)
)

// NewStore makes a store on a pool, which stays the caller's to close, after [Store.Close].
func NewStore(pool *pgxpool.Pool, config Config) *Store {
	if config.Load == (Load{}) {
		config.Load = BuiltinLoad
	}
	if config.Listen == nil {
		config.Listen = pool.Config().ConnConfig
	}
	if config.Loads == nil {
		config.Loads = pool
	}
	conn := db.New(pool, config.CallTimeout).Reporting(config.Unavailable)
	s := &Store{Reader: Reader{conn.AtMost(readerShare(pool))}, db: conn, pool: pool, config: config, notices: notice.NewSender(conn), contended: newContended()}
	s.load.Store(&config.Load)
	s.reads = &batch.Gatherer[jobKey, job.Job]{Verb: "jobs", Send: s.shareRead, Second: manyReads}
	s.submissions = &batch.Gatherer[newJob, job.Job]{Verb: "submit", Send: s.shareSubmission}
	s.cancellations = &batch.Gatherer[cancellation, job.Job]{Verb: "cancel", Send: s.shareCancellation}
	s.executions = &batch.Gatherer[worker.Lease, worker.Lease]{Verb: "execute", Send: s.shareExecution}
	return s
}

// readerShare is how many connections lists and lineages have of a pool. The others are always there for single jobs, for writes and for
// workers; and more backends than there are processors to carry them make each other slower.
func readerShare(pool *pgxpool.Pool) int { return max(1, int(pool.Config().MaxConns)*2/5) }

// Close sends the notices that are still waiting and stops their sender.
func (s *Store) Close() { s.notices.Close() }

// Listen calls handle for every notice, from any process, until ctx is done. It holds a connection of its own and connects
// again when that is lost; after each connect it passes the zero notice, since notices may have been missed.
func (s *Store) Listen(ctx context.Context, handle func(worker.Notice)) {
	notice.Listen(ctx, s.config.Listen, handle)
}

// write sends one statement under the lock timeout.
func (s *Store) write(ctx context.Context, q db.Query) error {
	return s.db.Send(ctx, lockTimeout(s.config.LockTimeout), q)
}

// lockTimeout bounds, for its transaction, how long each statement behind it waits for a row.
func lockTimeout(d time.Duration) db.Query { return db.SetDuration("lock_timeout", d) }
