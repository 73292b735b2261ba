-- What a job leaves behind when it succeeds: the rows of the built-in load, and one ledger row.

-- +goose Up
CREATE TABLE processed_data (
    principal_scope_hash bytea   NOT NULL,
    job_record_id        uuid    NOT NULL,
    record_ordinal       integer NOT NULL,
    record_id            text    NOT NULL,
    record_body          jsonb   NOT NULL,

    CONSTRAINT processed_data_primary_key PRIMARY KEY (principal_scope_hash, job_record_id, record_ordinal),
    CONSTRAINT processed_data_hash_width CHECK (octet_length(principal_scope_hash) = 32),
    CONSTRAINT processed_data_ordinal_positive CHECK (record_ordinal >= 1)
);

-- The ledger: a second execution of the same job cannot commit, since its row is already here.
CREATE TABLE etl_idempotency_records (
    principal_scope_hash bytea       NOT NULL,
    job_record_id        uuid        NOT NULL,
    request_digest       bytea       NOT NULL,
    record_count         integer     NOT NULL,
    executed_at          timestamptz NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT etl_idempotency_records_primary_key PRIMARY KEY (principal_scope_hash, job_record_id),
    CONSTRAINT etl_idempotency_records_hash_widths CHECK (
        octet_length(principal_scope_hash) = 32 AND octet_length(request_digest) = 32),
    CONSTRAINT etl_idempotency_records_job_exists
        FOREIGN KEY (principal_scope_hash, job_record_id) REFERENCES etl_job_records ON DELETE RESTRICT
);

-- +goose Down
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM processed_data) OR EXISTS (SELECT FROM etl_idempotency_records) THEN
        RAISE EXCEPTION 'processed_data or etl_idempotency_records still has rows; going down would lose effects of jobs. Purge or export them first';
    END IF;
END
$$;
-- +goose StatementEnd
DROP TABLE etl_idempotency_records;
DROP TABLE processed_data;
