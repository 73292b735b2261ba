package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

const submitSQL = `
INSERT INTO etl_job_records
	(principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (principal_scope_hash, submission_key_hash) DO NOTHING
RETURNING ` + jobColumns

// gatheredSubmitSQL is submitSQL for many jobs; it tells by their places which ones are new. They are in the order of the index on
// keys, so that two such statements with the same keys wait for one another in one direction only.
const gatheredSubmitSQL = `
INSERT INTO etl_job_records
	(principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count)
SELECT *
FROM unnest((SELECT $1::bytea[]), (SELECT $2::uuid[]), (SELECT $3::bytea[]), (SELECT $4::bytea[]), (SELECT $5::bytea[]),
	(SELECT $6::integer[])) AS new (owner, id, key_hash, digest, payload, record_count)
ORDER BY owner, key_hash
ON CONFLICT (principal_scope_hash, submission_key_hash) DO NOTHING
RETURNING ` + jobColumns + `, array_position($2, job_record_id)`

// findByKeySQL reads the job that has a key, and whether its payload has the same digest.
const findByKeySQL = `
SELECT ` + jobColumns + `, request_digest = $3
FROM etl_job_records
WHERE principal_scope_hash = $1 AND submission_key_hash = $2`

// maxGatheredPayload is the longest payload in bytes that shares its statement, so that a statement stays small.
const maxGatheredPayload = 16 << 10

// Submit implements job.Store. A submission shares its statement with those that come at the same time, unless it is long, or in a
// trace, which is to show a statement of its own. One whose key is in use asks again alone, and so does one whose statement had to
// wait too long for somebody's key.
func (s *Store) Submit(ctx context.Context, n job.NewJob) (j job.Job, inserted, sameBytes bool, err error) {
	if len(n.Payload.Bytes) > maxGatheredPayload || recording(ctx) {
		return s.submitAlone(ctx, n)
	}
	created, err := s.submissions.do(ctx, n)
	switch {
	case len(created) > 0:
		return created[0], true, true, nil
	case err == nil, errors.Is(err, job.ErrBusy):
		return s.submitAlone(ctx, n)
	default:
		return job.Job{}, false, false, err
	}
}

// gatheredSubmit creates the jobs whose keys are free.
func (s *Store) gatheredSubmit(ctx context.Context, jobs []job.NewJob) ([]placed[job.Job], error) {
	return s.writeGathered(ctx, "submit", statement{gatheredSubmitSQL, newJobColumns(jobs)})
}

// newJobColumns turns jobs into arrays, one for each column.
func newJobColumns(jobs []job.NewJob) []any {
	var (
		owners, keyHashes, digests, payloads [][]byte

		ids    []uuid.UUID
		counts []int
	)
	for _, j := range jobs {
		owners, ids, keyHashes = append(owners, j.Owner[:]), append(ids, j.ID), append(keyHashes, j.KeyHash[:])
		digests, payloads = append(digests, j.Payload.Digest[:]), append(payloads, j.Payload.Bytes)
		counts = append(counts, j.Payload.RecordCount)
	}
	return []any{owners, ids, keyHashes, digests, payloads, counts}
}

// submitAlone creates one job, or reads the one that has its key.
func (s *Store) submitAlone(ctx context.Context, n job.NewJob) (j job.Job, inserted, sameBytes bool, err error) {
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
