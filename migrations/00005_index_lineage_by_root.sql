-- The lineage of a root in the order of its answer. A file of its own, since a concurrent build cannot be in a transaction.
-- DROP first: a build that was interrupted leaves an invalid index behind, and running the migration again repairs it.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_lineage_index;
CREATE INDEX CONCURRENTLY etl_job_records_lineage_index
    ON etl_job_records (principal_scope_hash, replay_root_job_record_id, replay_generation_count, job_record_id)
    WHERE replay_root_job_record_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_lineage_index;
