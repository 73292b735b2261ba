-- The trace context (W3C Trace Context, "traceparent") of the request that made a job, for as long as the job has its payload. It is
-- null unless that request was traced. An insert takes it from a setting of its transaction, so that the statements of one that is not
-- traced do not know of it.

-- +goose Up
ALTER TABLE etl_job_records
    ADD COLUMN trace_parent text DEFAULT nullif(current_setting('fencepost.trace_parent', true), ''),
    ADD CONSTRAINT etl_job_records_trace_while_active CHECK (trace_parent IS NULL OR request_payload IS NOT NULL),
    ADD CONSTRAINT etl_job_records_trace_format CHECK (trace_parent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$');

-- It goes with the payload, whoever ends the job: a process of the version before, which still runs during a rollout, too.
-- +goose StatementBegin
CREATE FUNCTION etl_forget_trace() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.trace_parent := NULL;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER etl_job_records_trace_ends_with_payload
    BEFORE UPDATE ON etl_job_records
    FOR EACH ROW WHEN (NEW.trace_parent IS NOT NULL AND NEW.request_payload IS NULL)
    EXECUTE FUNCTION etl_forget_trace();

-- +goose Down
DROP TRIGGER etl_job_records_trace_ends_with_payload ON etl_job_records;
DROP FUNCTION etl_forget_trace();
ALTER TABLE etl_job_records
    DROP CONSTRAINT etl_job_records_trace_format,
    DROP CONSTRAINT etl_job_records_trace_while_active,
    DROP COLUMN trace_parent;
