-- The attempts of a job that did not end it.

-- name: attempts
SELECT job_record_id, attempt_number, attempt_outcome, started_at, ended_at, coalesce(sql_state, '')
FROM etl_job_attempts
WHERE principal_scope_hash = @owner AND job_record_id = ANY (@ids)
ORDER BY job_record_id, attempt_number, ended_at
