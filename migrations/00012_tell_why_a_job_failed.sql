-- Why a job failed, in facts that are no data, and the attempts that did not end it.

-- +goose Up
ALTER TABLE etl_job_records
    -- The SQLSTATE of the failure, the first record at which the batch begins to fail, and the violated constraint.
    ADD COLUMN failure_sql_state      text,
    ADD COLUMN failure_record_ordinal integer,
    ADD COLUMN failure_constraint     text,
    -- When the latest attempt began, kept at its end.
    ADD COLUMN attempt_started_at     timestamptz,
    -- How many attempts a passing fault or a lost lease has ended: what the limit of attempts counts.
    ADD COLUMN fault_count            integer NOT NULL DEFAULT 0,
    -- All rows that are there pass, so that nobody has to wait for a look at them; the next migration takes it.
    ADD CONSTRAINT etl_job_records_failure_facts CHECK (
        failure_sql_state IS NULL AND failure_record_ordinal IS NULL AND failure_constraint IS NULL
        OR job_status = 'FAILED' AND failure_sql_state ~ '^[0-9A-Z]{5}$'
            AND (failure_record_ordinal IS NULL OR failure_record_ordinal BETWEEN 1 AND record_count)
            AND (failure_constraint IS NULL OR octet_length(failure_constraint) BETWEEN 1 AND 63)) NOT VALID,
    ADD CONSTRAINT etl_job_records_faults_are_attempts CHECK (fault_count BETWEEN 0 AND attempt_count) NOT VALID;

-- A row for each attempt that did not lead to its job's end, and for each worker that came back too late. The last attempt is told by
-- the job itself.
CREATE TABLE etl_job_attempts (
    principal_scope_hash bytea       NOT NULL,
    job_record_id        uuid        NOT NULL,
    attempt_number       integer     NOT NULL,
    attempt_outcome      text        NOT NULL,
    started_at           timestamptz NOT NULL,
    ended_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    sql_state            text,

    CONSTRAINT etl_job_attempts_primary_key PRIMARY KEY (principal_scope_hash, job_record_id, attempt_number, attempt_outcome),
    CONSTRAINT etl_job_attempts_number_positive CHECK (attempt_number >= 1),
    CONSTRAINT etl_job_attempts_outcome_vocabulary CHECK (
        attempt_outcome IN ('retried', 'lease_lost', 'load_closed', 'refused_late')),
    CONSTRAINT etl_job_attempts_sql_state_format CHECK (sql_state ~ '^[0-9A-Z]{5}$'),
    CONSTRAINT etl_job_attempts_job_exists
        FOREIGN KEY (principal_scope_hash, job_record_id) REFERENCES etl_job_records ON DELETE RESTRICT
);

-- What has happened stays, whoever writes. It goes with its lineage alone, by retention.
CREATE TRIGGER etl_job_attempts_are_final
    BEFORE UPDATE ON etl_job_attempts
    FOR EACH ROW EXECUTE FUNCTION etl_refuse_job_record_change();

-- +goose Down
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM etl_job_attempts) OR EXISTS (SELECT FROM etl_job_records WHERE failure_sql_state IS NOT NULL) THEN
        RAISE EXCEPTION 'etl_job_attempts or etl_job_records tells why jobs failed; going down would lose it. Purge or export them first';
    END IF;
END
$$;
-- +goose StatementEnd
DROP TABLE etl_job_attempts;
ALTER TABLE etl_job_records
    DROP CONSTRAINT etl_job_records_faults_are_attempts,
    DROP CONSTRAINT etl_job_records_failure_facts,
    DROP COLUMN fault_count,
    DROP COLUMN attempt_started_at,
    DROP COLUMN failure_constraint,
    DROP COLUMN failure_record_ordinal,
    DROP COLUMN failure_sql_state;
