-- What is looked at before anything is served or run.

-- name: server facts
-- The encoding, the version and the clock of the server, and whether it can be written.
SELECT current_setting('server_encoding'), current_setting('server_version_num')::integer, clock_timestamp(),
	current_setting('transaction_read_only')::boolean

-- name: missing privileges
-- The tables on which the role lacks something that the statements need. What changes is granted by column.
SELECT DISTINCT name
FROM (VALUES
	('goose_db_version', 'SELECT', ''),
	('etl_job_records', 'SELECT', ''), ('etl_job_records', 'INSERT', ''),
	('etl_job_records', 'UPDATE', 'request_payload'), ('etl_job_records', 'UPDATE', 'job_status'),
	('etl_job_records', 'UPDATE', 'attempt_count'), ('etl_job_records', 'UPDATE', 'next_attempt_at'),
	('etl_job_records', 'UPDATE', 'attempt_started_at'), ('etl_job_records', 'UPDATE', 'fault_count'),
	('etl_job_records', 'UPDATE', 'failure_code'), ('etl_job_records', 'UPDATE', 'failure_sql_state'),
	('etl_job_records', 'UPDATE', 'failure_record_ordinal'), ('etl_job_records', 'UPDATE', 'failure_constraint'),
	('etl_job_records', 'UPDATE', 'lease_claim_id'), ('etl_job_records', 'UPDATE', 'lease_owner_id'),
	('etl_job_records', 'UPDATE', 'lease_expires_at'), ('etl_job_records', 'UPDATE', 'cancellation_key_hash'),
	('etl_job_records', 'UPDATE', 'cancellation_code'), ('etl_job_records', 'UPDATE', 'job_cancelled_at'),
	('etl_job_records', 'UPDATE', 'updated_at'),
	('etl_job_attempts', 'SELECT', ''), ('etl_job_attempts', 'INSERT', ''),
	('etl_idempotency_records', 'INSERT', ''),
	('processed_data', 'INSERT', '')
) AS needed (name, privilege, column_name)
WHERE (@builtin_load::boolean OR name <> 'processed_data') AND NOT CASE WHEN column_name = '' THEN has_table_privilege(name, privilege)
	ELSE has_column_privilege(name, column_name, privilege) END
ORDER BY name
