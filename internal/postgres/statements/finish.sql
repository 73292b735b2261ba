-- The other verdicts of a worker. Each names the exact live lease, as the fence does (execute.sql).

-- name: retry
-- Gives a job back, due after a delay.
UPDATE etl_job_records
SET job_status = 'PENDING', next_attempt_at = clock_timestamp() + @delay::interval,
	lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	updated_at = clock_timestamp()
WHERE principal_scope_hash = @owner AND job_record_id = @id
	AND {{template "live_lease" "@claim_id"}}
RETURNING job_record_id

-- name: fail
-- Ends a job.
UPDATE etl_job_records
SET job_status = 'FAILED', failure_code = @failure_code,
	request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	updated_at = clock_timestamp()
WHERE principal_scope_hash = @owner AND job_record_id = @id
	AND {{template "live_lease" "@claim_id"}}
RETURNING job_record_id
