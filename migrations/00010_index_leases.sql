-- The leases by when they end, for claims. The condition means RUNNING too, by the checks on a lease, but is not what the statements
-- about one job say. Where statistics say that no job is running, the planner would otherwise look a lease up among all of those
-- that ran in the last minutes, and not by the key of its job.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_lease_index;
CREATE INDEX CONCURRENTLY etl_job_records_lease_index
    ON etl_job_records (lease_expires_at) WHERE lease_owner_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_lease_expiry_index;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_lease_expiry_index;
CREATE INDEX CONCURRENTLY etl_job_records_lease_expiry_index
    ON etl_job_records (lease_expires_at) WHERE job_status = 'RUNNING';
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_lease_index;
