-- The attempts of a job that did not end it.

-- name: attempts
-- A page of the attempts of each job, in the order of their key.
SELECT attempt.*
FROM unnest(@ids::uuid[]) AS asked (id) CROSS JOIN LATERAL (
	SELECT job_record_id, attempt_number, attempt_outcome, started_at, ended_at, coalesce(sql_state, '')
	FROM etl_job_attempts
	WHERE principal_scope_hash = @owner AND job_record_id = asked.id
		AND (attempt_number, attempt_outcome) > (@after_number, @after_outcome)
	ORDER BY attempt_number, attempt_outcome
	LIMIT @limit
) AS attempt
ORDER BY job_record_id, attempt_number, attempt_outcome
