-- What each role of roles.sql may do with the tables. Run it as fencepost_migrator after `fencepost migrate up`:
--
--   psql --file deploy/roles/grants.sql postgres://fencepost_migrator@db.example.com/fencepost
--
-- LISTEN and NOTIFY need no privilege.

GRANT SELECT ON goose_db_version TO fencepost_server, fencepost_retention;

-- "serve" and "work": no deletion, and no change of what identifies a job or its lineage.
GRANT SELECT, INSERT ON etl_job_records TO fencepost_server;
GRANT UPDATE (request_payload, job_status, attempt_count, next_attempt_at, failure_code,
    failure_sql_state, failure_record_ordinal, failure_constraint, attempt_started_at, fault_count,
    lease_claim_id, lease_owner_id, lease_expires_at,
    cancellation_key_hash, cancellation_code, job_cancelled_at, updated_at) ON etl_job_records TO fencepost_server;
GRANT INSERT ON etl_idempotency_records TO fencepost_server;
GRANT SELECT, INSERT ON etl_job_attempts TO fencepost_server;
GRANT INSERT ON processed_data TO fencepost_server; -- the built-in load; grant instead what your own load needs

-- "retention purge": no payload, no key. PostgreSQL lets only those lock a row who may update a column of it; no trigger lets
-- this one be changed once a job has ended, and a purge touches no other.
GRANT SELECT (principal_scope_hash, job_record_id, job_status, updated_at, replay_root_job_record_id), DELETE
    ON etl_job_records TO fencepost_retention;
GRANT UPDATE (updated_at) ON etl_job_records TO fencepost_retention;
GRANT SELECT (principal_scope_hash, job_record_id), DELETE ON etl_idempotency_records TO fencepost_retention;
GRANT SELECT (principal_scope_hash, job_record_id), DELETE ON etl_job_attempts TO fencepost_retention;

-- People and dashboards: how jobs are doing. No payload, no loaded data, no hash, no lease, no trace.
GRANT SELECT (job_record_id, record_count, job_status, attempt_count, next_attempt_at, failure_code, lease_expires_at,
    failure_sql_state, failure_record_ordinal, failure_constraint, attempt_started_at, fault_count,
    cancellation_code, job_cancelled_at,
    replay_source_job_record_id, replay_root_job_record_id, replay_generation_count, created_at, updated_at)
    ON etl_job_records TO fencepost_reader;
GRANT SELECT (job_record_id, record_count, executed_at) ON etl_idempotency_records TO fencepost_reader;
GRANT SELECT (job_record_id, attempt_number, attempt_outcome, started_at, ended_at, sql_state) ON etl_job_attempts TO fencepost_reader;
GRANT SELECT ON goose_db_version TO fencepost_reader;
