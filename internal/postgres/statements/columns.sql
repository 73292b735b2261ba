-- What a job.Job is read from, in the order of scanJob. Every statement that returns jobs has these columns first.
{{define "job_columns"}}job_record_id, job_status, attempt_count, record_count, failure_code, cancellation_code,
	job_cancelled_at, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count,
	created_at, updated_at, failure_sql_state, failure_record_ordinal, failure_constraint, attempt_started_at{{end}}
