-- The jobs of an owner in one status, replays and roots apart, in the order of lists.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_status_index;
CREATE INDEX CONCURRENTLY etl_job_records_status_index
    ON etl_job_records (principal_scope_hash, job_status, (replay_root_job_record_id IS NOT NULL), job_record_id);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_status_index;
