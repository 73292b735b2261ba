-- The other verdicts of a worker. Each names the exact live lease, as the fence does (execute.sql).

-- name: retry
-- Gives a job back, due after a delay, and writes down how the attempt ended. A fault counts to the limit of attempts.
WITH job AS (
	UPDATE etl_job_records
	SET job_status = 'PENDING', next_attempt_at = clock_timestamp() + @delay::interval, fault_count = fault_count + @faults,
		lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
		updated_at = clock_timestamp()
	WHERE principal_scope_hash = @owner AND job_record_id = @id
		AND {{template "live_lease" "@claim_id"}}
	RETURNING principal_scope_hash, job_record_id, attempt_count, attempt_started_at
)
INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number, attempt_outcome, started_at, sql_state)
SELECT principal_scope_hash, job_record_id, attempt_count, @outcome, coalesce(attempt_started_at, clock_timestamp()), nullif(@sql_state, '')
FROM job
RETURNING job_record_id

-- name: fail
-- Ends a job, and tells why.
UPDATE etl_job_records
SET job_status = 'FAILED', failure_code = @failure_code,
	failure_sql_state = nullif(@sql_state, ''), failure_record_ordinal = nullif(@record_ordinal::integer, 0),
	failure_constraint = nullif(@constraint_name, ''),
	request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	updated_at = clock_timestamp()
WHERE principal_scope_hash = @owner AND job_record_id = @id
	AND {{template "live_lease" "@claim_id"}}
RETURNING job_record_id

-- name: refuse late
-- Writes down that a worker came back when its lease was gone: the proof that what took the lease away was final.
INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number, attempt_outcome, started_at)
SELECT principal_scope_hash, job_record_id, @attempt, 'refused_late', @started_at
FROM etl_job_records
WHERE principal_scope_hash = @owner AND job_record_id = @id
	-- Only of an attempt that there was and that is no longer the live one.
	AND attempt_count >= @attempt AND lease_claim_id IS DISTINCT FROM @claim_id
ON CONFLICT DO NOTHING
