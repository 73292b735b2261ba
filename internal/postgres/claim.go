package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// claimSQL leases a batch of due jobs, oldest first, and never waits for a row: running jobs whose lease expired, then
// pending ones. A job at the attempt limit ($4) becomes FAILED instead. A payload of at most $6 bytes comes along.
//
// The time is read once, by a subquery, so that the indexes on it can be used. The limit is one too, so that all limits look the
// same to the planner, which then plans but once. And the due jobs are joined as arrays, which the planner takes for short; for
// a share of all pending jobs, it would rather read the whole table.
const claimSQL = `
WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS at),
expired AS MATERIALIZED (
	SELECT principal_scope_hash, job_record_id, lease_expires_at AS due_at
	FROM etl_job_records
	WHERE job_status = 'RUNNING' AND lease_expires_at <= (SELECT at FROM moment)
	ORDER BY lease_expires_at
	LIMIT (SELECT $1::bigint)
	FOR UPDATE SKIP LOCKED
),
pending AS MATERIALIZED (
	SELECT principal_scope_hash, job_record_id, next_attempt_at AS due_at
	FROM etl_job_records
	WHERE job_status = 'PENDING' AND next_attempt_at <= (SELECT at FROM moment)
	ORDER BY next_attempt_at, job_record_id
	LIMIT (SELECT $1 - count(*) FROM expired)
	FOR UPDATE SKIP LOCKED
),
due AS (SELECT * FROM expired UNION ALL SELECT * FROM pending)
UPDATE etl_job_records AS job
SET job_status = CASE WHEN attempt_count < $4 THEN 'RUNNING' ELSE 'FAILED' END,
	attempt_count = CASE WHEN attempt_count < $4 THEN attempt_count + 1 ELSE attempt_count END,
	request_payload = CASE WHEN attempt_count < $4 THEN request_payload END,
	lease_claim_id = CASE WHEN attempt_count < $4 THEN gen_random_uuid() END,
	lease_owner_id = CASE WHEN attempt_count < $4 THEN $2::uuid END,
	lease_expires_at = CASE WHEN attempt_count < $4 THEN clock_timestamp() + $3::interval END,
	failure_code = CASE WHEN attempt_count < $4 THEN NULL ELSE $5 END,
	updated_at = clock_timestamp()
FROM unnest(
	ARRAY(SELECT principal_scope_hash FROM due), ARRAY(SELECT job_record_id FROM due), ARRAY(SELECT due_at FROM due)
) AS due (principal_scope_hash, job_record_id, due_at)
WHERE job.principal_scope_hash = due.principal_scope_hash AND job.job_record_id = due.job_record_id
RETURNING job.principal_scope_hash, job.job_record_id,
	coalesce(job.replay_root_job_record_id, job.job_record_id), job.lease_claim_id, job.attempt_count,
	clock_timestamp() - due.due_at, job.request_digest,
	CASE WHEN octet_length(job.request_payload) <= $6 THEN job.request_payload END, coalesce(job.trace_parent, '')`

// maxClaimedPayload is the longest payload in bytes that comes with its lease. A longer one is read when its job is executed, so
// that a batch of leases stays small.
const maxClaimedPayload = 16 << 10

// Claim implements worker.Queue.
func (s *Store) Claim(ctx context.Context, r worker.ClaimRequest) (worker.Claimed, error) {
	leases, err := query(ctx, s, "claim", scanClaim, claimSQL,
		r.Limit, r.WorkerID, r.Duration, r.MaxAttempts, job.FailureAttemptsExhausted, maxClaimedPayload)
	var claimed worker.Claimed
	for _, l := range leases {
		if l.ClaimID == uuid.Nil {
			claimed.Exhausted++
			s.notices.publishLease(l, job.StatusFailed)
			continue
		}
		s.notices.publishLease(l, job.StatusRunning)
		claimed.Leases = append(claimed.Leases, l)
	}
	return claimed, err
}

// scanClaim reads a lease. One without a claim id stands for a job that was failed instead.
func scanClaim(row pgx.CollectableRow) (worker.Lease, error) {
	var (
		l             worker.Lease
		owner, digest []byte
		claim         *uuid.UUID
	)
	err := row.Scan(&owner, &l.JobID, &l.RootID, &claim, &l.Attempt, &l.Waited, &digest, &l.Payload, &l.TraceParent)
	copy(l.Owner[:], owner)
	copy(l.Digest[:], digest)
	if claim != nil {
		l.ClaimID = *claim
	}
	return l, err
}
