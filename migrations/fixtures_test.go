package migrations_test

// What a schema version can hold: for each version that brought a state or a table, rows in it. A version holds the rows of
// all versions up to its own. Each job's id tells its story.

// fixtures maps a version to the SQL that writes its rows.
var fixtures = map[int64]string{
	1: `
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
	request_payload, job_status, attempt_count, next_attempt_at, failure_code, lease_claim_id, lease_owner_id, lease_expires_at)
SELECT sha256('owner'), id::uuid, sha256(id::bytea), sha256('[{"id":"a"}]'), 1,
	payload::bytea, status, attempts, clock_timestamp(), failure,
	CASE WHEN status = 'RUNNING' THEN gen_random_uuid() END,
	CASE WHEN status = 'RUNNING' THEN gen_random_uuid() END,
	CASE WHEN status = 'RUNNING' THEN clock_timestamp() + lease::interval END
FROM (VALUES
	('01900000-0000-7000-8000-000000000001', '[{"id":"a"}]', 'PENDING',   0, NULL, NULL),
	('01900000-0000-7000-8000-000000000002', '[{"id":"a"}]', 'PENDING',   1, NULL, NULL),
	('01900000-0000-7000-8000-000000000003', '[{"id":"a"}]', 'RUNNING',   1, NULL, '1 hour'),
	('01900000-0000-7000-8000-000000000004', '[{"id":"a"}]', 'RUNNING',   2, NULL, '-1 hour'),
	('01900000-0000-7000-8000-000000000005', NULL,           'SUCCEEDED', 1, NULL, NULL),
	('01900000-0000-7000-8000-000000000006', NULL,           'FAILED',    3, 'etl_target_failure', NULL)
) AS job (id, payload, status, attempts, failure, lease)`,

	2: `
INSERT INTO processed_data (principal_scope_hash, job_record_id, record_ordinal, record_id, record_body)
SELECT principal_scope_hash, job_record_id, 1, 'a', '{"id":"a"}' FROM etl_job_records WHERE job_status = 'SUCCEEDED';
INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
SELECT principal_scope_hash, job_record_id, request_digest, record_count FROM etl_job_records WHERE job_status = 'SUCCEEDED'`,

	3: `
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
	job_status, attempt_count, cancellation_key_hash, cancellation_code, job_cancelled_at)
SELECT sha256('owner'), id::uuid, sha256(id::bytea), sha256('[{"id":"a"}]'), 1,
	'CANCELLED', attempts, sha256('cancel'), 'etl_job_cancelled_by_owner', clock_timestamp()
FROM (VALUES
	('01900000-0000-7000-8000-000000000007', 0),
	('01900000-0000-7000-8000-000000000008', 1)
) AS job (id, attempts)`,

	// Two replays of the failed job, the first of which failed too and was replayed again; one of a cancelled job.
	4: `
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
	request_payload, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
SELECT sha256('owner'), id::uuid, sha256(id::bytea), sha256('[{"id":"a"}]'), 1, '[{"id":"a"}]', source::uuid, root::uuid, 1
FROM (VALUES
	('01900000-0000-7000-8000-000000000009', '01900000-0000-7000-8000-000000000006', '01900000-0000-7000-8000-000000000006'),
	('01900000-0000-7000-8000-00000000000a', '01900000-0000-7000-8000-000000000006', '01900000-0000-7000-8000-000000000006'),
	('01900000-0000-7000-8000-00000000000b', '01900000-0000-7000-8000-000000000007', '01900000-0000-7000-8000-000000000007')
) AS job (id, source, root);
UPDATE etl_job_records SET job_status = 'FAILED', request_payload = NULL, failure_code = 'etl_internal_error'
WHERE job_record_id = '01900000-0000-7000-8000-000000000009';
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
	request_payload, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
VALUES (sha256('owner'), '01900000-0000-7000-8000-00000000000c', sha256('again'), sha256('[{"id":"a"}]'), 1, '[{"id":"a"}]',
	'01900000-0000-7000-8000-000000000009', '01900000-0000-7000-8000-000000000006', 2)`,

	7: `
UPDATE etl_job_records SET trace_parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
WHERE job_status IN ('PENDING', 'RUNNING')`,

	12: `
INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number, attempt_outcome, started_at, sql_state)
SELECT principal_scope_hash, job_record_id, 1, 'retried', created_at, '40001' FROM etl_job_records WHERE attempt_count > 1`,
}

// removals maps a version to the SQL that takes its rows away again.
var removals = map[int64]string{
	1: `DELETE FROM etl_job_records`,
	2: `DELETE FROM processed_data; DELETE FROM etl_idempotency_records`,
	3: `DELETE FROM etl_job_records WHERE job_status = 'CANCELLED'`,
	4: `DELETE FROM etl_job_records WHERE replay_source_job_record_id IS NOT NULL`,

	12: `DELETE FROM etl_job_attempts`,
}
