-- The pending jobs of each owner in the order in which they are due, for claims, in which owners take turns. The condition means
-- PENDING too, by the checks on payload and lease, but is not that of etl_job_records_claimable_index: while the statistics know of
-- few pending jobs or few owners, the planner could take the one index for the other.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_pending_owner_index;
CREATE INDEX CONCURRENTLY etl_job_records_pending_owner_index
    ON etl_job_records (principal_scope_hash, next_attempt_at, job_record_id)
    WHERE request_payload IS NOT NULL AND lease_claim_id IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS etl_job_records_pending_owner_index;
