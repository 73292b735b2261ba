-- The replays of one source in the order of their creation; also what makes deleting a source cheap to refuse.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_replay_source_index;
CREATE INDEX CONCURRENTLY etl_job_records_replay_source_index
    ON etl_job_records (principal_scope_hash, replay_source_job_record_id, job_record_id)
    WHERE replay_source_job_record_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_replay_source_index;
