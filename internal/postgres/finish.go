package postgres

import (
	"context"
	"errors"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

var retrySQL, failSQL, refuseLateSQL = statements.Named("retry"), statements.Named("fail"), statements.Named("refuse late")

// Retry implements worker.Queue.
func (s *Store) Retry(ctx context.Context, l worker.Lease, r worker.Return) error {
	faults := 0
	if r.Outcome == job.AttemptRetried {
		faults = 1
	}
	return s.finish(ctx, l, job.StatusPending, retrySQL, statements.Args{
		"delay": r.Delay, "faults": faults, "outcome": r.Outcome, "sql_state": r.SQLState,
	})
}

// Fail implements worker.Queue. The name of a constraint is the operator's, and stays here unless that allows otherwise.
func (s *Store) Fail(ctx context.Context, l worker.Lease, f worker.Failure) error {
	if !s.config.ExplainNames {
		f.Constraint = ""
	}
	return s.finish(ctx, l, job.StatusFailed, failSQL, statements.Args{
		"failure_code": f.Code, "sql_state": f.SQLState, "record_ordinal": f.RecordOrdinal, "constraint_name": f.Constraint,
	})
}

// RefusedLate implements worker.Queue.
func (s *Store) RefusedLate(ctx context.Context, l worker.Lease) error {
	args := leaseArgs(l)
	args["attempt"], args["started_at"] = l.Attempt, l.StartedAt
	return s.db.Query(ctx, "refuse late", db.Exec(refuseLateSQL, args))
}

// finish moves a job under its exact live lease. Zero rows mean that the lease is gone.
func (s *Store) finish(ctx context.Context, l worker.Lease, to job.Status, st statements.Statement, args statements.Args) error {
	maps.Copy(args, leaseArgs(l))
	err := s.db.Call(ctx, st.Name, func(ctx context.Context) error {
		return s.write(ctx, db.Row(st, args, func(row pgx.Row) error { return row.Scan(new(uuid.UUID)) }))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return worker.ErrStale
	}
	if err == nil {
		s.notices.PublishLease(l, to)
	}
	return err
}
