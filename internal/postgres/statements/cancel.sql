-- A cancellation ends a job that is pending or running, for ever.

-- The two statements differ in one place: what they do about a row that another transaction holds.
{{define "cancel"}}
WITH free AS MATERIALIZED (
	SELECT owner, id, key_hash, reason, place
	FROM unnest((SELECT @owners::bytea[]), (SELECT @ids::uuid[]), (SELECT @key_hashes::bytea[]), (SELECT @reasons::text[]))
		WITH ORDINALITY AS wanted (owner, id, key_hash, reason, place)
	JOIN etl_job_records ON principal_scope_hash = owner AND job_record_id = id
	FOR NO KEY UPDATE OF etl_job_records{{.}}
)
UPDATE etl_job_records
-- A running job's lease goes with its payload, so that the worker's success matches no row any more.
SET job_status = 'CANCELLED',
	request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	cancellation_key_hash = key_hash, cancellation_code = reason,
	job_cancelled_at = clock_timestamp(), updated_at = clock_timestamp()
FROM free
-- No lease is asked for: a pending job is cancelled as well as a running one.
WHERE principal_scope_hash = owner AND job_record_id = id AND job_status IN ('PENDING', 'RUNNING')
RETURNING {{template "job_columns"}}, place
{{end}}

-- name: cancel
-- Cancels the jobs that are active and free, and tells by their places which ones these are. It passes over a job that another
-- transaction holds, because waiting for it would keep the other cancellations waiting.
{{template "cancel" " SKIP LOCKED"}}

-- name: cancel waiting
-- The same, waiting for the rows that are held.
{{template "cancel" ""}}

-- name: find cancelled
-- A job, and whether it was cancelled under this key for this reason.
SELECT {{template "job_columns"}},
	cancellation_key_hash IS NOT DISTINCT FROM @key_hash AND cancellation_code IS NOT DISTINCT FROM @reason
FROM etl_job_records
WHERE principal_scope_hash = @owner AND job_record_id = @id
