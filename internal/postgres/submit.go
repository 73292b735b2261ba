package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

const submitSQL = `
INSERT INTO etl_job_records
	(principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (principal_scope_hash, submission_key_hash) DO NOTHING
RETURNING ` + jobColumns

// findByKeySQL reads the job that has a key, and whether its payload has the same digest.
const findByKeySQL = `
SELECT ` + jobColumns + `, request_digest = $3
FROM etl_job_records
WHERE principal_scope_hash = $1 AND submission_key_hash = $2`

// Submit implements job.Store.
func (s *Store) Submit(ctx context.Context, n job.NewJob) (j job.Job, inserted, sameBytes bool, err error) {
	err = s.call(ctx, "submit", func(ctx context.Context) error {
		err := s.createRow(ctx, func(row pgx.Row) (err error) {
			j, err = scanJob(row)
			return err
		}, submitSQL, n.Owner[:], n.ID, n.KeyHash[:], n.Payload.Digest[:], n.Payload.Bytes, n.Payload.RecordCount)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		row := s.pool.QueryRow(ctx, findByKeySQL, n.Owner[:], n.KeyHash[:], n.Payload.Digest[:])
		j, err = scanJob(row, &sameBytes)
		return err
	})
	// A row with the new id is this call's own, also when the answer to its first try was lost.
	inserted = err == nil && j.ID == n.ID
	if inserted {
		s.notices.publishJob(j)
	}
	return j, inserted, sameBytes || inserted, err
}
