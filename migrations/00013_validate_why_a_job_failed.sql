-- What the migration before asks of jobs is asked of those that were there, beside live traffic.

-- +goose Up
ALTER TABLE etl_job_records
    VALIDATE CONSTRAINT etl_job_records_failure_facts,
    VALIDATE CONSTRAINT etl_job_records_faults_are_attempts;

-- +goose Down
-- What was found to hold goes on holding.
