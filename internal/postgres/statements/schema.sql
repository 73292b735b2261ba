-- What the schema of a database is, and whether it can be written.

-- name: schema version
SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied

-- name: read only
SELECT current_setting('transaction_read_only')::boolean

-- name: table holder
-- Who has used a table of the schema for the longest time in one transaction. To other roles' sessions, the time is unknown.
SELECT activity.pid, coalesce(activity.usename, ''), coalesce(activity.application_name, '')
FROM pg_locks AS held
JOIN pg_stat_activity AS activity USING (pid)
WHERE held.granted AND activity.pid <> pg_backend_pid()
	AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND held.relation IN (to_regclass('etl_job_records'), to_regclass('etl_job_attempts'), to_regclass('etl_idempotency_records'))
ORDER BY activity.xact_start NULLS LAST, activity.pid
LIMIT 1
