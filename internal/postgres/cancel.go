package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// cancelSQL is the only place that makes a job CANCELLED. It asks for no lease: a running job's lease goes with it, so
// the worker's success matches no row any more.
const cancelSQL = `
UPDATE etl_job_records
SET job_status = 'CANCELLED',
	request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	cancellation_key_hash = $3, cancellation_code = $4,
	job_cancelled_at = clock_timestamp(), updated_at = clock_timestamp()
WHERE principal_scope_hash = $1 AND job_record_id = $2 AND job_status IN ('PENDING', 'RUNNING')
RETURNING ` + jobColumns

const findCancelledSQL = `
SELECT ` + jobColumns + `, cancellation_key_hash IS NOT DISTINCT FROM $3
FROM etl_job_records
WHERE principal_scope_hash = $1 AND job_record_id = $2`

// Cancel implements job.Store.
func (s *Store) Cancel(ctx context.Context, owner job.Owner, id uuid.UUID, keyHash job.Hash) (job.CancelResult, error) {
	var result job.CancelResult
	err := s.call(ctx, "cancel", func(ctx context.Context) error {
		err := s.writeRow(ctx, func(row pgx.Row) (err error) {
			result.Job, err = scanJob(row)
			return err
		}, cancelSQL, owner[:], id, keyHash[:], job.CancellationByOwner)
		result.Transitioned = err == nil
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		row := s.pool.QueryRow(ctx, findCancelledSQL, owner[:], id, keyHash[:])
		result.Job, err = scanJob(row, &result.SameKey)
		return notFound(err)
	})
	if err == nil && result.Transitioned {
		s.notices.publishJob(result.Job)
	}
	return result, err
}

// notFound names the absence of a row.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return job.ErrNotFound
	}
	return err
}
