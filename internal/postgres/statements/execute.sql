-- An execution loads a job's records and makes it SUCCEEDED, all at once or not at all.

-- The fence: nothing but the exact live lease of a running job. The clock is read, since now() stands still inside a transaction
-- and would let a lease pass that has expired.
{{define "live_lease"}}job_status = 'RUNNING' AND lease_claim_id = {{.}} AND lease_expires_at > clock_timestamp(){{end}}

{{define "succeed"}}UPDATE etl_job_records
	SET job_status = 'SUCCEEDED',
		request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
		updated_at = clock_timestamp(){{end}}

-- The built-in load. It writes the records of each row of job (owner, id, records), which the statement around it has to have.
-- The id loses what the intake trims: the Unicode property White_Space.
{{define "load"}}INSERT INTO processed_data (principal_scope_hash, job_record_id, record_ordinal, record_id, record_body)
	SELECT owner, id, ordinal, btrim(record ->> 'id', U&'\0009\000A\000B\000C\000D\0020\0085\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000'), record
	FROM job, jsonb_array_elements(records) WITH ORDINALITY AS element (record, ordinal){{end}}

-- name: leased payload
-- The payload of a job under its exact live lease. It takes no lock: a cancellation must not wait for the execution.
SELECT request_payload
FROM etl_job_records
WHERE principal_scope_hash = @owner AND job_record_id = @id
	AND {{template "live_lease" "@claim_id"}}

-- name: lease held
-- Whether a job still runs under a lease, which may have expired.
SELECT EXISTS (
	SELECT FROM etl_job_records
	WHERE principal_scope_hash = @owner AND job_record_id = @id AND job_status = 'RUNNING' AND lease_claim_id = @claim_id)

-- name: execute
-- The built-in load, fence and ledger rows of many leases; it tells by their places which ones won.
WITH free AS MATERIALIZED (
	SELECT owner, id, claim_id, records, place
	FROM unnest((SELECT @owners::bytea[]), (SELECT @ids::uuid[]), (SELECT @claim_ids::uuid[]), (SELECT @records::jsonb[]))
		WITH ORDINALITY AS leased (owner, id, claim_id, records, place)
	JOIN etl_job_records ON principal_scope_hash = owner AND job_record_id = id
	-- It passes over a job that another transaction holds, because waiting for it would keep the other executions waiting.
	FOR NO KEY UPDATE OF etl_job_records SKIP LOCKED
), job AS (
	{{template "succeed"}}
	FROM free
	WHERE principal_scope_hash = owner AND job_record_id = id
		AND {{template "live_lease" "claim_id"}}
	RETURNING owner, id, request_digest, record_count, records, place
-- Load and ledger get the jobs that the fence matched, and no others.
), loaded AS (
	{{template "load"}}
), ledger AS (
	INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
	SELECT owner, id, request_digest, record_count FROM job
)
SELECT place FROM job

-- name: load
-- The built-in load of one job, for the transaction of an execution that shares no statement.
WITH job AS (SELECT @owner::bytea AS owner, @job_record_id::uuid AS id, @records::jsonb AS records)
{{template "load"}}

-- name: succeed
-- The fence and the ledger row behind a load. Where the fence matches nothing, the ledger row has no digest, which its column
-- refuses: whatever took the lease away makes the whole transaction roll back.
WITH fence AS (
	{{template "succeed"}}
	WHERE principal_scope_hash = @owner AND job_record_id = @id
		AND {{template "live_lease" "@claim_id"}}
	RETURNING request_digest, record_count
)
INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
VALUES (@owner, @id, (SELECT request_digest FROM fence), (SELECT record_count FROM fence))

-- name: check constraints now
-- What a commit would check, without one.
SET CONSTRAINTS ALL IMMEDIATE
