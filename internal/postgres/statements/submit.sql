-- A submission makes a root, unless its key is in use.

-- name: submit
-- Creates the jobs whose keys are free, and tells by their places which ones these are.
INSERT INTO etl_job_records
	(principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count, trace_parent)
SELECT owner, id, key_hash, digest, payload, record_count, nullif(trace_parent, '')
FROM unnest((SELECT @owners::bytea[]), (SELECT @ids::uuid[]), (SELECT @key_hashes::bytea[]), (SELECT @digests::bytea[]),
	(SELECT @payloads::bytea[]), (SELECT @record_counts::integer[]), (SELECT @trace_parents::text[]))
	AS new (owner, id, key_hash, digest, payload, record_count, trace_parent)
-- In the order of the index on keys, so that two such statements with the same keys wait for one another in one direction only.
ORDER BY owner, key_hash
-- The key decides: whoever commits a row with it first has the job.
ON CONFLICT (principal_scope_hash, submission_key_hash) DO NOTHING
RETURNING {{template "job_columns"}}, array_position(@ids, job_record_id)

-- name: find by key
-- The job that has a key, and whether its payload has the same digest.
SELECT {{template "job_columns"}}, request_digest = @digest
FROM etl_job_records
WHERE principal_scope_hash = @owner AND submission_key_hash = @key_hash
