package postgres

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

var retrySQL, failSQL = statements.Named("retry"), statements.Named("fail")

// Retry implements worker.Queue.
func (s *Store) Retry(ctx context.Context, l worker.Lease, delay time.Duration) error {
	return s.finish(ctx, l, job.StatusPending, retrySQL, statements.Args{"delay": delay})
}

// Fail implements worker.Queue.
func (s *Store) Fail(ctx context.Context, l worker.Lease, code job.FailureCode) error {
	return s.finish(ctx, l, job.StatusFailed, failSQL, statements.Args{"failure_code": code})
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
