-- A replay makes a new job with the bytes of one that failed or was cancelled.

-- name: replay
-- Derives everything from the source in the statement that inserts, and inserts nothing when the source is not replayable.
WITH source AS (
	SELECT job_record_id, record_count,
		coalesce(replay_root_job_record_id, job_record_id) AS root_id,
		coalesce(replay_generation_count, 0) + 1 AS generation
	FROM etl_job_records
	WHERE principal_scope_hash = @owner AND job_record_id = @source_id
		AND job_status IN ('FAILED', 'CANCELLED')
		AND request_digest = @digest
		AND coalesce(replay_generation_count, 0) < @max_generation
	-- Locked, never written: a terminal row does not change, and it cannot be deleted meanwhile.
	FOR SHARE
)
INSERT INTO etl_job_records
	(principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count,
	replay_source_job_record_id, replay_root_job_record_id, replay_generation_count, trace_parent)
SELECT @owner, @id, @key_hash, @digest, @payload, record_count, job_record_id, root_id, generation, nullif(@trace_parent, '')
FROM source
-- The key decides: whoever commits a row with it first has the job.
ON CONFLICT (principal_scope_hash, submission_key_hash) DO NOTHING
RETURNING {{template "job_columns"}}

-- name: find source
-- The source, and whether the payload has its digest.
SELECT {{template "job_columns"}}, request_digest = @digest
FROM etl_job_records
WHERE principal_scope_hash = @owner AND job_record_id = @id
