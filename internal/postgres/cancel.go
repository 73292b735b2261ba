package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// cancelJob is all that makes a job CANCELLED, under the hash of a key that is to follow. A running job's lease goes with it, so the
// worker's success matches no row any more.
const cancelJob = `
UPDATE etl_job_records
SET job_status = 'CANCELLED',
	request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	cancellation_code = $4, job_cancelled_at = clock_timestamp(), updated_at = clock_timestamp(),
	cancellation_key_hash = `

// cancelSQL asks for no lease: a pending job is cancelled as well as a running one.
const cancelSQL = cancelJob + `$3
WHERE principal_scope_hash = $1 AND job_record_id = $2 AND job_status IN ('PENDING', 'RUNNING')
RETURNING ` + jobColumns

// gatheredCancelSQL is cancelSQL for many cancellations; it tells by their places which ones won. It passes over a job that another
// transaction holds, because waiting for it would keep the other cancellations waiting.
const gatheredCancelSQL = `
WITH free AS MATERIALIZED (
	SELECT owner, id, key_hash, place
	FROM unnest((SELECT $1::bytea[]), (SELECT $2::uuid[]), (SELECT $3::bytea[])) WITH ORDINALITY AS wanted (owner, id, key_hash, place)
	JOIN etl_job_records ON principal_scope_hash = owner AND job_record_id = id
	FOR NO KEY UPDATE OF etl_job_records SKIP LOCKED
)` + cancelJob + `key_hash
FROM free
WHERE principal_scope_hash = owner AND job_record_id = id AND job_status IN ('PENDING', 'RUNNING')
RETURNING ` + jobColumns + `, place`

const findCancelledSQL = `
SELECT ` + jobColumns + `, cancellation_key_hash IS NOT DISTINCT FROM $3
FROM etl_job_records
WHERE principal_scope_hash = $1 AND job_record_id = $2`

// cancellation is what one call to Cancel asks for.
type cancellation struct {
	jobKey
	keyHash job.Hash
}

// Cancel implements job.Store. A cancellation shares its statement with those that come at the same time, except for a trace, which is
// to show a statement of its own. One that did not win there asks again alone, and waits for the row if it must.
func (s *Store) Cancel(ctx context.Context, owner job.Owner, id uuid.UUID, keyHash job.Hash) (job.CancelResult, error) {
	c := cancellation{jobKey{owner, id}, keyHash}
	if recording(ctx) {
		return s.cancelAlone(ctx, c)
	}
	won, err := s.cancellations.do(ctx, c)
	switch {
	case err != nil:
		return job.CancelResult{}, err
	case len(won) > 0:
		return job.CancelResult{Job: won[0], Transitioned: true}, nil
	default:
		return s.cancelAlone(ctx, c)
	}
}

// gatheredCancel carries out the cancellations whose jobs are active and free.
func (s *Store) gatheredCancel(ctx context.Context, cancellations []cancellation) ([]placed[job.Job], error) {
	owners, ids := make([][]byte, len(cancellations)), make([]uuid.UUID, len(cancellations))
	keyHashes := make([][]byte, len(cancellations))
	for i, c := range cancellations {
		owners[i], ids[i], keyHashes[i] = c.owner[:], c.id, c.keyHash[:]
	}
	return s.writeGathered(ctx, "cancel", statement{gatheredCancelSQL, []any{owners, ids, keyHashes, job.CancellationByOwner}})
}

// cancelAlone carries out one cancellation, or reads why there is nothing to carry out.
func (s *Store) cancelAlone(ctx context.Context, c cancellation) (job.CancelResult, error) {
	var result job.CancelResult
	err := s.call(ctx, "cancel", func(ctx context.Context) error {
		err := s.writeRow(ctx, func(row pgx.Row) (err error) {
			result.Job, err = scanJob(row)
			return err
		}, cancelSQL, c.owner[:], c.id, c.keyHash[:], job.CancellationByOwner)
		result.Transitioned = err == nil
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		row := s.pool.QueryRow(ctx, findCancelledSQL, c.owner[:], c.id, c.keyHash[:])
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
