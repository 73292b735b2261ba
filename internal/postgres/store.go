// Package postgres keeps jobs in PostgreSQL. It implements job.Store and worker.Queue, one verb a file: one SQL statement,
// one method.
//
// Every transition is one conditional statement whose row count is the verdict. Requests that come at the same time may share it:
// then each has a row of its own, or none. When it matched nothing, a second
// statement, with a snapshot of its own, reads why; a common table expression in the same statement would still see the
// state from before a lock was waited for. Lease and retry decisions use clock_timestamp(), since now() stands still
// inside a transaction and would let an expired lease pass.
package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// Config sets the bounds of a [Store].
type Config struct {
	// LockTimeout is how long a write waits for a row that another transaction holds.
	LockTimeout time.Duration
	// CallTimeout is how long one call may take in all, waiting for a connection included.
	CallTimeout time.Duration
	// Listen is how to connect the listener for notices, which needs a session of its own and so can't go through a pooler
	// that shares them. Nil means like the pool.
	Listen *pgx.ConnConfig
	// Load is what a job does with its records. The zero Load is [BuiltinLoad].
	Load Load
}

// Store implements job.Store and worker.Queue on a pool of connections. It keeps no state of its own about jobs.
type Store struct {
	pool    *pgxpool.Pool
	reader  reader
	config  Config
	notices *notifier
	// What is asked for at the same time shares statements.
	reads         *gatherer[jobKey, job.Job]
	submissions   *gatherer[job.NewJob, job.Job]
	cancellations *gatherer[cancellation, job.Job]
	executions    *gatherer[worker.Lease, worker.Lease]
}

// reader is what reads are sent to: the pool, or one connection to a replica.
type reader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

var (
	_ job.Store    = (*Store)(nil)
	_ worker.Queue = (*Store)(nil)
)

// NewStore makes a store on a pool, which stays the caller's to close, after [Store.Close].
func NewStore(pool *pgxpool.Pool, config Config) *Store {
	if config.Load.sql == "" {
		config.Load = BuiltinLoad
	}
	if config.Listen == nil {
		config.Listen = pool.Config().ConnConfig
	}
	s := &Store{pool: pool, reader: pool, config: config, notices: newNotifier(pool)}
	s.reads = &gatherer[jobKey, job.Job]{verb: "jobs", send: s.gatheredJobs, second: manyReads}
	s.submissions = &gatherer[job.NewJob, job.Job]{verb: "submit", send: s.gatheredSubmit}
	s.cancellations = &gatherer[cancellation, job.Job]{verb: "cancel", send: s.gatheredCancel}
	s.executions = &gatherer[worker.Lease, worker.Lease]{verb: "execute", send: s.gatheredExecution}
	go s.notices.run()
	return s
}

// Close sends the notices that are still waiting and stops their sender.
func (s *Store) Close() { s.notices.close() }

// jobColumns are the columns of a [job.Job], in the order of scanJob.
const jobColumns = `job_record_id, job_status, attempt_count, record_count, failure_code, cancellation_code,
	job_cancelled_at, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count,
	created_at, updated_at`

// scanJob reads jobColumns, and whatever columns the statement has behind them into extra.
func scanJob(row pgx.Row, extra ...any) (job.Job, error) {
	var (
		j                   job.Job
		failure, cancel     *string
		cancelledAt         *time.Time
		sourceID, rootID    *uuid.UUID
		generation          *int
		createdAt, updateAt time.Time
	)
	columns := []any{
		&j.ID, &j.Status, &j.AttemptCount, &j.RecordCount, &failure, &cancel,
		&cancelledAt, &sourceID, &rootID, &generation, &createdAt, &updateAt,
	}
	if err := row.Scan(append(columns, extra...)...); err != nil {
		return job.Job{}, err
	}
	j.CreatedAt, j.UpdatedAt = createdAt.UTC(), updateAt.UTC()
	if failure != nil {
		j.FailureCode = job.FailureCode(*failure)
	}
	if cancel != nil {
		j.CancellationCode, j.CancelledAt = *cancel, cancelledAt.UTC()
	}
	if sourceID != nil {
		j.Derivation = &job.Derivation{SourceID: *sourceID, RootID: *rootID, Generation: *generation}
	}
	return j, nil
}

// collectJob reads one row of jobColumns, for pgx.CollectRows.
func collectJob(row pgx.CollectableRow) (job.Job, error) { return scanJob(row) }
