package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// claimSQL leases a batch of due jobs, and never waits for a row: running jobs whose lease expired, and pending ones. Where there
// are enough of both that nobody holds, each kind gets half of the batch, and chance decides on an odd one. A job at the attempt
// limit ($4) becomes FAILED instead. A payload of at most $6 bytes comes along.
//
// Owners take turns. A walk goes round the owners that have pending jobs, in the order of their hashes and from a random point on,
// by one look into an index for each. It ends after as many owners as the batch has jobs, but not before 16, or when it comes
// round, since UNION drops what it has seen. In a random order, each owner gets an equal share of the batch for its oldest jobs,
// and the first ones what does not divide. What is left of the shares goes to the oldest jobs of all.
//
// All else is for the planner. The time is read once, by a subquery, so that the indexes on it can be used. The limits are not
// constants, so that all batches look the same, and one plan does for all. An owner's jobs are looked up in the index that has them in
// order, and in no other: by its condition, a payload and no lease, instead of the status, as which all owners' jobs have an
// index too, and by a range of one owner, since the planner takes a range for much more of the primary key than an equal value.
// Ranges that begin at -infinity it takes for short. And the due jobs are joined as arrays, which it takes for short as well; for a
// share of all pending jobs, it would rather read the whole table.
const claimSQL = `
WITH RECURSIVE moment AS MATERIALIZED (SELECT clock_timestamp() AS at),
walk (owner) AS (
	SELECT uuid_send(gen_random_uuid())
	UNION
	SELECT coalesce((
		SELECT principal_scope_hash
		FROM etl_job_records
		WHERE request_payload IS NOT NULL AND lease_claim_id IS NULL AND principal_scope_hash > walk.owner
		ORDER BY principal_scope_hash, next_attempt_at
		LIMIT 1
	), (
		SELECT principal_scope_hash
		FROM etl_job_records
		WHERE request_payload IS NOT NULL AND lease_claim_id IS NULL
		ORDER BY principal_scope_hash, next_attempt_at
		LIMIT 1
	))
	FROM walk
),
turn AS MATERIALIZED (
	SELECT owner, row_number() OVER (ORDER BY random()) AS place, count(*) OVER () AS owners
	FROM (SELECT owner FROM walk WHERE octet_length(owner) = 32 LIMIT (SELECT greatest($1::bigint, 16))) AS seen
),
room AS MATERIALIZED (
	SELECT $1 - count(*) AS jobs
	FROM (
		SELECT FROM etl_job_records
		WHERE lease_owner_id IS NOT NULL AND lease_expires_at <= (SELECT at FROM moment)
		ORDER BY lease_expires_at
		LIMIT (SELECT ($1::bigint + (random() < 0.5)::int) / 2)
		FOR UPDATE SKIP LOCKED
	) AS expired
),
shared AS MATERIALIZED (
	SELECT due.*
	FROM turn, room, LATERAL (
		SELECT principal_scope_hash, job_record_id, next_attempt_at AS due_at
		FROM etl_job_records
		WHERE request_payload IS NOT NULL AND lease_claim_id IS NULL
			AND principal_scope_hash BETWEEN turn.owner AND turn.owner
			AND (principal_scope_hash, next_attempt_at) <= (turn.owner, (SELECT at FROM moment))
		ORDER BY principal_scope_hash, next_attempt_at, job_record_id
		LIMIT (room.jobs + turn.owners - turn.place) / turn.owners
		FOR UPDATE SKIP LOCKED
	) AS due
),
oldest AS MATERIALIZED (
	SELECT principal_scope_hash, job_record_id, next_attempt_at AS due_at
	FROM etl_job_records
	WHERE job_status = 'PENDING' AND next_attempt_at BETWEEN '-infinity' AND (SELECT at FROM moment)
		AND (principal_scope_hash, job_record_id) NOT IN (SELECT principal_scope_hash, job_record_id FROM shared)
	ORDER BY next_attempt_at, job_record_id
	LIMIT (SELECT jobs - (SELECT count(*) FROM shared) FROM room)
	FOR UPDATE SKIP LOCKED
),
pending AS (SELECT * FROM shared UNION ALL SELECT * FROM oldest),
expired AS MATERIALIZED (
	SELECT principal_scope_hash, job_record_id, lease_expires_at AS due_at
	FROM etl_job_records
	WHERE lease_owner_id IS NOT NULL AND lease_expires_at <= (SELECT at FROM moment)
	ORDER BY lease_expires_at
	LIMIT (SELECT $1 - count(*) FROM pending)
	FOR UPDATE SKIP LOCKED
),
due AS (SELECT * FROM pending UNION ALL SELECT * FROM expired)
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
	leases, err := queryUnder(ctx, s, "claim", scanClaim, planOnce, statement{claimSQL, []any{
		r.Limit, r.WorkerID, r.Duration, r.MaxAttempts, job.FailureAttemptsExhausted, maxClaimedPayload,
	}})
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

// planOnce keeps PostgreSQL from planning a statement anew for its arguments, until the end of the transaction.
var planOnce = statement{setConfig, []any{"plan_cache_mode", "force_generic_plan"}}

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
