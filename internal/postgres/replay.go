package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// replaySQL derives everything from the source in the statement that inserts, and inserts nothing when the source is not
// replayable. The source is locked, never written: a terminal row does not change, and it cannot be deleted meanwhile.
const replaySQL = `
WITH source AS (
	SELECT job_record_id, record_count,
		coalesce(replay_root_job_record_id, job_record_id) AS root_id,
		coalesce(replay_generation_count, 0) + 1 AS generation
	FROM etl_job_records
	WHERE principal_scope_hash = $1 AND job_record_id = $2
		AND job_status IN ('FAILED', 'CANCELLED')
		AND request_digest = $5
		AND coalesce(replay_generation_count, 0) < $7
	FOR SHARE
)
INSERT INTO etl_job_records
	(principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count,
	replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
SELECT $1, $3, $4, $5, $6, record_count, job_record_id, root_id, generation FROM source
ON CONFLICT (principal_scope_hash, submission_key_hash) DO NOTHING
RETURNING ` + jobColumns

const findSourceSQL = `
SELECT ` + jobColumns + `, request_digest = $3
FROM etl_job_records
WHERE principal_scope_hash = $1 AND job_record_id = $2`

// Replay implements job.Store.
func (s *Store) Replay(ctx context.Context, sourceID uuid.UUID, n job.NewJob) (job.ReplayResult, error) {
	var result job.ReplayResult
	err := s.call(ctx, "replay", func(ctx context.Context) error {
		result = job.ReplayResult{}
		err := s.createRow(ctx, func(row pgx.Row) error {
			created, err := scanJob(row)
			result.Created = &created
			return err
		}, replaySQL, n.Owner[:], sourceID, n.ID, n.KeyHash[:], n.Payload.Digest[:], n.Payload.Bytes, job.MaxGeneration)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		result, err = s.whyNotReplayed(ctx, sourceID, n)
		return err
	})
	if err == nil && result.Created != nil {
		s.notices.publishJob(*result.Created)
	}
	return result, err
}

// whyNotReplayed reads the source, and the job that has the key if there is one.
func (s *Store) whyNotReplayed(ctx context.Context, sourceID uuid.UUID, n job.NewJob) (job.ReplayResult, error) {
	var result job.ReplayResult
	batch := &pgx.Batch{}
	batch.Queue(findSourceSQL, n.Owner[:], sourceID, n.Payload.Digest[:]).QueryRow(func(row pgx.Row) (err error) {
		result.Source, err = scanJob(row, &result.SameBytes)
		return notFound(err)
	})
	batch.Queue(findByKeySQL, n.Owner[:], n.KeyHash[:], n.Payload.Digest[:]).QueryRow(func(row pgx.Row) error {
		var sameBytes bool
		earlier, err := scanJob(row, &sameBytes)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		result.Earlier = &earlier
		result.SameIdentity = sameBytes && earlier.Derivation != nil && earlier.Derivation.SourceID == sourceID
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return job.ReplayResult{}, err
	}
	if result.Earlier != nil && result.Earlier.ID == n.ID {
		return job.ReplayResult{Created: result.Earlier}, nil // the answer to this call's first try was lost
	}
	return result, nil
}
