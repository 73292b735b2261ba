-- The terminal state CANCELLED. Its three fields are there exactly in that state.

-- +goose Up
ALTER TABLE etl_job_records
    ADD COLUMN cancellation_key_hash bytea,
    ADD COLUMN cancellation_code     text,
    ADD COLUMN job_cancelled_at      timestamptz,
    DROP CONSTRAINT etl_job_records_status_vocabulary,
    ADD CONSTRAINT etl_job_records_status_vocabulary CHECK (
        job_status IN ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED')),
    ADD CONSTRAINT etl_job_records_cancellation_when_cancelled CHECK (
        (cancellation_key_hash IS NOT NULL) = (job_status = 'CANCELLED')
        AND (cancellation_code IS NOT NULL) = (job_status = 'CANCELLED')
        AND (job_cancelled_at IS NOT NULL) = (job_status = 'CANCELLED')),
    ADD CONSTRAINT etl_job_records_cancellation_key_width CHECK (octet_length(cancellation_key_hash) = 32),
    ADD CONSTRAINT etl_job_records_cancellation_code_format CHECK (cancellation_code ~ '^[a-z][a-z0-9_]{2,63}$');

-- +goose Down
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM etl_job_records WHERE job_status = 'CANCELLED') THEN
        RAISE EXCEPTION 'etl_job_records has CANCELLED jobs; going down would lose that state. Purge or export them first';
    END IF;
END
$$;
-- +goose StatementEnd
ALTER TABLE etl_job_records
    DROP CONSTRAINT etl_job_records_cancellation_code_format,
    DROP CONSTRAINT etl_job_records_cancellation_key_width,
    DROP CONSTRAINT etl_job_records_cancellation_when_cancelled,
    DROP CONSTRAINT etl_job_records_status_vocabulary,
    ADD CONSTRAINT etl_job_records_status_vocabulary CHECK (
        job_status IN ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED')),
    DROP COLUMN job_cancelled_at,
    DROP COLUMN cancellation_code,
    DROP COLUMN cancellation_key_hash;
