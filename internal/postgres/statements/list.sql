-- Lists of an owner's jobs, newest first, and their counts.

-- What no index answers of a job.Filter; a null parameter keeps all.
{{define "filter"}}
FROM etl_job_records AS job
WHERE principal_scope_hash = @owner
	AND (@created_after::timestamptz IS NULL OR created_at > @created_after)
	AND (@created_before::timestamptz IS NULL OR created_at < @created_before)
	-- A job is unresolved when it failed or was cancelled and none of its descendants is active or succeeded.
	AND (@unresolved::boolean IS NULL OR @unresolved = (job_status IN ('FAILED', 'CANCELLED') AND NOT EXISTS (
		WITH RECURSIVE descendant AS (
			SELECT derived.job_record_id, derived.job_status
			FROM etl_job_records AS derived
			WHERE derived.principal_scope_hash = job.principal_scope_hash
				AND derived.replay_source_job_record_id = job.job_record_id
			UNION ALL
			SELECT derived.job_record_id, derived.job_status
			FROM descendant CROSS JOIN LATERAL (
				SELECT job_record_id, job_status
				FROM etl_job_records
				WHERE principal_scope_hash = job.principal_scope_hash
					AND replay_source_job_record_id = descendant.job_record_id
				-- Keeps each step of the way down to one probe of the index; otherwise the planner may read all replays of the
				-- owner at every step.
				OFFSET 0
			) AS derived
		)
		SELECT FROM descendant WHERE job_status NOT IN ('FAILED', 'CANCELLED'))))
{{end}}

-- name: list
-- Without a filter. The parameters are subqueries, so that to the planner those of all owners and places in the list look the
-- same, and one plan does for all.
SELECT {{template "job_columns"}}
FROM etl_job_records
WHERE principal_scope_hash = (SELECT @owner::bytea) AND job_record_id < (SELECT @before::uuid)
ORDER BY job_record_id DESC
LIMIT (SELECT @limit::integer)

-- name: list filtered
SELECT {{template "job_columns"}}
{{template "filter"}}
	AND job_record_id < @before
ORDER BY job_record_id DESC
LIMIT @limit

-- name: list parts
-- Merges pages of the parts of an owner's jobs that are wanted. A part is one status of either replays or roots, and the index
-- has each in the order of the list: however rare a part is, its page takes a scan of no other jobs.
SELECT page.*
FROM unnest(@statuses::text[]) AS wanted (status)
CROSS JOIN unnest(@replay::boolean[]) AS kind (is_replay)
CROSS JOIN LATERAL (
	SELECT {{template "job_columns"}}
	{{template "filter"}}
	-- The collation names etl_job_records_status_index.
	AND job_status = wanted.status COLLATE "C"
	AND (replay_root_job_record_id IS NOT NULL) = kind.is_replay
	AND job_record_id < @before
	ORDER BY job_record_id DESC
	-- The planner is not told the limit, because it would rather sort a part that it supposes to be shorter.
	LIMIT (SELECT @limit::integer)
) AS page
ORDER BY job_record_id DESC
LIMIT @limit

-- name: count by status
-- Counts one job after the other, for each status up to a limit: however many there are, it reads no more that count. Without the
-- conditions that are null it reads only the index.
SELECT wanted.status, counted.jobs
FROM unnest(@statuses::text[]) AS wanted (status)
CROSS JOIN LATERAL (
	SELECT count(*) AS jobs
	FROM (
		SELECT
		{{template "filter"}}
			AND job_status = wanted.status COLLATE "C"
			AND (@replay::boolean IS NULL OR (replay_root_job_record_id IS NOT NULL) = @replay)
		LIMIT (SELECT @limit::integer)
	) AS one
) AS counted
WHERE counted.jobs > 0
