-- What the schema of a database is, and whether it can be written.

-- name: schema version
SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied

-- name: read only
SELECT current_setting('transaction_read_only')::boolean
