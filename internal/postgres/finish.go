package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

const retrySQL = `
UPDATE etl_job_records
SET job_status = 'PENDING', next_attempt_at = clock_timestamp() + $4::interval,
	lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	updated_at = clock_timestamp()
WHERE principal_scope_hash = $1 AND job_record_id = $2
	AND job_status = 'RUNNING' AND lease_claim_id = $3 AND lease_expires_at > clock_timestamp()
RETURNING job_record_id`

const failSQL = `
UPDATE etl_job_records
SET job_status = 'FAILED', failure_code = $4,
	request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	updated_at = clock_timestamp()
WHERE principal_scope_hash = $1 AND job_record_id = $2
	AND job_status = 'RUNNING' AND lease_claim_id = $3 AND lease_expires_at > clock_timestamp()
RETURNING job_record_id`

// Retry implements worker.Queue.
func (s *Store) Retry(ctx context.Context, l worker.Lease, delay time.Duration) error {
	return s.finish(ctx, l, job.StatusPending, retrySQL, delay)
}

// Fail implements worker.Queue.
func (s *Store) Fail(ctx context.Context, l worker.Lease, code job.FailureCode) error {
	return s.finish(ctx, l, job.StatusFailed, failSQL, code)
}

// finish moves a job under its exact live lease. Zero rows mean that the lease is gone.
func (s *Store) finish(ctx context.Context, l worker.Lease, to job.Status, sql string, arg any) error {
	err := s.call(ctx, "finish", func(ctx context.Context) error {
		return s.writeRow(ctx, func(row pgx.Row) error {
			return row.Scan(new(uuid.UUID))
		}, sql, l.Owner[:], l.JobID, l.ClaimID, arg)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return worker.ErrStale
	}
	if err == nil {
		s.notices.publishLease(l, to)
	}
	return err
}
