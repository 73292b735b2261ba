-- The built-in load with a pause in front of it, so that there is time to cancel a job by hand. Only a job that was
-- submitted waits; a replay does not. The pause is shorter than a worker's lease, which is a minute unless told otherwise.
WITH pause AS MATERIALIZED (
    SELECT pg_sleep(CASE WHEN replay_generation_count IS NULL THEN 45 ELSE 0 END)
    FROM etl_job_records
    WHERE principal_scope_hash = @owner::bytea AND job_record_id = @job_record_id::uuid
)
INSERT INTO processed_data (principal_scope_hash, job_record_id, record_ordinal, record_id, record_body)
SELECT @owner::bytea, @job_record_id::uuid, ordinal, record ->> 'id', record
FROM pause, jsonb_array_elements(@records::jsonb) WITH ORDINALITY AS element (record, ordinal)
