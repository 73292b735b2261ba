-- The jobs of an owner in one status, replays and roots apart, in the order of lists. Its collation is not that of the column, so that
-- only a list asks for it, by name. Where statistics say that no job of an owner is running, the planner would otherwise look the job of
-- a lease up among all the running ones, those of the last minutes included, and not by its key.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_status_index;
CREATE INDEX CONCURRENTLY etl_job_records_status_index
    ON etl_job_records (principal_scope_hash, job_status COLLATE "C", (replay_root_job_record_id IS NOT NULL), job_record_id);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_status_index;
