-- One row is one job: one execution episode, never rewound.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE etl_job_records (
    principal_scope_hash bytea       NOT NULL,
    job_record_id        uuid        NOT NULL,
    submission_key_hash  bytea       NOT NULL,
    request_digest       bytea       NOT NULL,
    request_payload      bytea,
    record_count         integer     NOT NULL,
    job_status           text        NOT NULL DEFAULT 'PENDING',
    attempt_count        integer     NOT NULL DEFAULT 0,
    next_attempt_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    failure_code         text,
    lease_claim_id       uuid,
    lease_owner_id       uuid,
    lease_expires_at     timestamptz,
    created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at           timestamptz NOT NULL DEFAULT clock_timestamp(),

    -- The owner comes first in every key: each owner-scoped read is one probe, time-ordered ids give the pages, and the
    -- table can be distributed by its first column.
    CONSTRAINT etl_job_records_primary_key PRIMARY KEY (principal_scope_hash, job_record_id),
    CONSTRAINT etl_job_records_submission_key_unique UNIQUE (principal_scope_hash, submission_key_hash),

    CONSTRAINT etl_job_records_hash_widths CHECK (
        octet_length(principal_scope_hash) = 32
        AND octet_length(submission_key_hash) = 32
        AND octet_length(request_digest) = 32),
    -- The service looks malformed ids up as the nil UUID, so no job may have it.
    CONSTRAINT etl_job_records_id_not_nil CHECK (job_record_id <> '00000000-0000-0000-0000-000000000000'),
    CONSTRAINT etl_job_records_counts_not_negative CHECK (record_count >= 0 AND attempt_count >= 0),
    CONSTRAINT etl_job_records_status_vocabulary CHECK (
        job_status IN ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED')),
    CONSTRAINT etl_job_records_payload_while_active CHECK (
        (request_payload IS NOT NULL) = (job_status IN ('PENDING', 'RUNNING'))),
    CONSTRAINT etl_job_records_lease_while_running CHECK (
        (lease_claim_id IS NOT NULL) = (job_status = 'RUNNING')
        AND (lease_owner_id IS NOT NULL) = (job_status = 'RUNNING')
        AND (lease_expires_at IS NOT NULL) = (job_status = 'RUNNING')),
    CONSTRAINT etl_job_records_failure_when_failed CHECK (
        (failure_code IS NOT NULL) = (job_status = 'FAILED')),
    CONSTRAINT etl_job_records_failure_code_format CHECK (failure_code ~ '^[a-z][a-z0-9_]{2,63}$')
);
-- +goose StatementEnd

CREATE INDEX etl_job_records_claimable_index
    ON etl_job_records (next_attempt_at, job_record_id) WHERE job_status = 'PENDING';
CREATE INDEX etl_job_records_lease_expiry_index
    ON etl_job_records (lease_expires_at) WHERE job_status = 'RUNNING';

-- +goose StatementBegin
CREATE FUNCTION etl_refuse_job_record_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME,
        MESSAGE = format('%s refuses this change of a job record', TG_NAME);
END
$$;
-- +goose StatementEnd

-- A terminal row is final, whoever writes. Other rows do not pay for this trigger: its condition is in WHEN.
CREATE TRIGGER etl_job_records_terminal_is_final
    BEFORE UPDATE ON etl_job_records
    FOR EACH ROW WHEN (OLD.job_status NOT IN ('PENDING', 'RUNNING'))
    EXECUTE FUNCTION etl_refuse_job_record_change();

-- What identifies a job is fixed in every state. The service never names these columns in an UPDATE.
CREATE TRIGGER etl_job_records_identity_is_fixed
    BEFORE UPDATE OF principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count, created_at
    ON etl_job_records
    FOR EACH ROW WHEN (
        (OLD.principal_scope_hash, OLD.job_record_id, OLD.submission_key_hash, OLD.request_digest, OLD.record_count, OLD.created_at)
        IS DISTINCT FROM
        (NEW.principal_scope_hash, NEW.job_record_id, NEW.submission_key_hash, NEW.request_digest, NEW.record_count, NEW.created_at))
    EXECUTE FUNCTION etl_refuse_job_record_change();

-- Only a claimed job can succeed, and claims are never uncounted.
CREATE TRIGGER etl_job_records_success_needs_claim
    BEFORE UPDATE ON etl_job_records
    FOR EACH ROW WHEN (
        OLD.job_status = 'PENDING' AND NEW.job_status = 'SUCCEEDED'
        OR NEW.attempt_count < OLD.attempt_count)
    EXECUTE FUNCTION etl_refuse_job_record_change();

-- +goose Down
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM etl_job_records) THEN
        RAISE EXCEPTION 'etl_job_records still has rows; going down would lose jobs. Purge or export them first';
    END IF;
END
$$;
-- +goose StatementEnd
DROP TABLE etl_job_records;
DROP FUNCTION etl_refuse_job_record_change();
