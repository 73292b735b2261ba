-- A claim gives a worker leases on jobs that are due.

-- name: claim
-- Leases a batch of due jobs, and never waits for a row: running jobs whose lease expired, and pending ones. Where there are
-- enough of both that nobody holds, each kind gets half of the batch, and chance decides on an odd one.
--
-- Owners take turns. In a random order, each owner of a turn gets an equal share of the batch for its oldest jobs, and the first
-- ones what does not divide. What is left of the shares goes to the oldest jobs of all.
--
-- The limits are not constants, so that all batches look the same, and one plan does for all.
WITH RECURSIVE
-- The time is read once, by a subquery, so that the indexes on it can be used.
moment AS MATERIALIZED (SELECT clock_timestamp() AS at),
-- Goes round the owners that have pending jobs, in the order of their hashes and from a random point on, by one look into an index
-- for each. UNION drops what it has seen, so it ends when it comes round.
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
-- As many owners as the batch has jobs, but not fewer than 16.
turn AS MATERIALIZED (
	SELECT owner, row_number() OVER (ORDER BY random()) AS place, count(*) OVER () AS owners
	-- The random point that the walk began at has half the length of an owner, and is none.
	FROM (SELECT owner FROM walk WHERE octet_length(owner) = 32 LIMIT (SELECT greatest(@limit::bigint, 16))) AS seen
),
-- How many of the batch are for pending jobs: all that half of it with expired leases leaves.
room AS MATERIALIZED (
	SELECT @limit - count(*) AS jobs
	FROM (
		SELECT FROM etl_job_records
		WHERE lease_owner_id IS NOT NULL AND lease_expires_at <= (SELECT at FROM moment)
		ORDER BY lease_expires_at
		LIMIT (SELECT (@limit::bigint + (random() < 0.5)::int) / 2)
		FOR UPDATE SKIP LOCKED
	) AS expired
),
-- Each owner's share. Its jobs are looked up in the index that has them in order, and in no other: by that index's condition, a
-- payload and no lease, instead of the status, as which all owners' jobs have an index too, and by a range of one owner, since
-- the planner takes a range for much more of the primary key than an equal value.
shared AS MATERIALIZED (
	SELECT due.*
	FROM turn, room, LATERAL (
		SELECT principal_scope_hash, job_record_id, next_attempt_at AS due_at, 0 AS lost
		FROM etl_job_records
		WHERE request_payload IS NOT NULL AND lease_claim_id IS NULL
			AND principal_scope_hash BETWEEN turn.owner AND turn.owner
			AND (principal_scope_hash, next_attempt_at) <= (turn.owner, (SELECT at FROM moment))
		ORDER BY principal_scope_hash, next_attempt_at, job_record_id
		LIMIT (room.jobs + turn.owners - turn.place) / turn.owners
		FOR UPDATE SKIP LOCKED
	) AS due
),
-- What the shares leave, for the oldest jobs of all. The planner takes a range that begins at -infinity for short.
oldest AS MATERIALIZED (
	SELECT principal_scope_hash, job_record_id, next_attempt_at AS due_at, 0 AS lost
	FROM etl_job_records
	WHERE job_status = 'PENDING' AND next_attempt_at BETWEEN '-infinity' AND (SELECT at FROM moment)
		AND (principal_scope_hash, job_record_id) NOT IN (SELECT principal_scope_hash, job_record_id FROM shared)
	ORDER BY next_attempt_at, job_record_id
	LIMIT (SELECT jobs - (SELECT count(*) FROM shared) FROM room)
	FOR UPDATE SKIP LOCKED
),
pending AS (SELECT * FROM shared UNION ALL SELECT * FROM oldest),
-- What the pending jobs leave, for the leases that ended first.
expired AS MATERIALIZED (
	SELECT principal_scope_hash, job_record_id, lease_expires_at AS due_at, 1 AS lost, attempt_count, attempt_started_at
	FROM etl_job_records
	WHERE lease_owner_id IS NOT NULL AND lease_expires_at <= (SELECT at FROM moment)
	ORDER BY lease_expires_at
	LIMIT (SELECT @limit - count(*) FROM pending)
	FOR UPDATE SKIP LOCKED
),
-- An attempt whose lease was lost did not end its job. Of one that began before this was written down, the end of the lease is known.
timeline AS (
	INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number, attempt_outcome, started_at)
	SELECT principal_scope_hash, job_record_id, attempt_count, 'lease_lost', coalesce(attempt_started_at, due_at)
	FROM expired
),
due AS (SELECT * FROM pending UNION ALL SELECT principal_scope_hash, job_record_id, due_at, lost FROM expired)
UPDATE etl_job_records AS job
-- A job that faults have ended as often as is allowed becomes FAILED instead.
SET job_status = CASE WHEN fault_count + lost < @max_attempts THEN 'RUNNING' ELSE 'FAILED' END,
	fault_count = fault_count + lost,
	attempt_count = CASE WHEN fault_count + lost < @max_attempts THEN attempt_count + 1 ELSE attempt_count END,
	attempt_started_at = CASE WHEN fault_count + lost < @max_attempts THEN clock_timestamp() ELSE attempt_started_at END,
	request_payload = CASE WHEN fault_count + lost < @max_attempts THEN request_payload END,
	lease_claim_id = CASE WHEN fault_count + lost < @max_attempts THEN gen_random_uuid() END,
	lease_owner_id = CASE WHEN fault_count + lost < @max_attempts THEN @worker_id::uuid END,
	lease_expires_at = CASE WHEN fault_count + lost < @max_attempts THEN clock_timestamp() + @duration::interval END,
	failure_code = CASE WHEN fault_count + lost < @max_attempts THEN NULL ELSE @failure_code END,
	updated_at = clock_timestamp()
-- The due jobs are joined as arrays, which the planner takes for short; for a share of all pending jobs, it would rather read the
-- whole table.
FROM unnest(
	ARRAY(SELECT principal_scope_hash FROM due), ARRAY(SELECT job_record_id FROM due), ARRAY(SELECT due_at FROM due),
	ARRAY(SELECT lost FROM due)
) AS due (principal_scope_hash, job_record_id, due_at, lost)
WHERE job.principal_scope_hash = due.principal_scope_hash AND job.job_record_id = due.job_record_id
RETURNING job.principal_scope_hash, job.job_record_id,
	coalesce(job.replay_root_job_record_id, job.job_record_id), job.lease_claim_id, job.attempt_count,
	job.fault_count, job.attempt_started_at, clock_timestamp() - due.due_at, job.request_digest,
	-- A short payload comes along.
	CASE WHEN octet_length(job.request_payload) <= @max_claimed_payload THEN job.request_payload END,
	coalesce(job.trace_parent, '')
