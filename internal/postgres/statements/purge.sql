-- A purge removes lineages that ended long ago.

-- How each statement begins: page is the next jobs by primary key behind a job, and lineage those of their roots of which every
-- job has ended and was last touched longer than the age ago. So a purge reads the table once, however many statements it takes,
-- and needs no index that every job would pay for.
{{define "old_lineages"}}
WITH page AS MATERIALIZED (
	SELECT principal_scope_hash, job_record_id, replay_root_job_record_id
	FROM etl_job_records
	WHERE (principal_scope_hash, job_record_id) > (@behind_owner, @behind_id)
	ORDER BY principal_scope_hash, job_record_id
	LIMIT @batch_size
), lineage AS MATERIALIZED (
	SELECT page.principal_scope_hash, page.job_record_id AS root_id, member.job_ids
	FROM page CROSS JOIN LATERAL (
		SELECT array_agg(job_record_id) AS job_ids
		FROM etl_job_records AS job
		WHERE job.principal_scope_hash = page.principal_scope_hash
			AND (job.job_record_id = page.job_record_id OR job.replay_root_job_record_id = page.job_record_id)
		HAVING bool_and(job_status IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
			AND updated_at < (SELECT clock_timestamp() - @age::interval))
	) AS member
	WHERE page.replay_root_job_record_id IS NULL
)
{{end}}

-- How each ends: it returns no row when there was no page any more.
{{define "last_of_page"}}, last.principal_scope_hash, last.job_record_id
FROM (SELECT * FROM page ORDER BY principal_scope_hash DESC, job_record_id DESC LIMIT 1) AS last{{end}}

-- name: count purgeable
{{template "old_lineages"}}
SELECT (SELECT count(*) FROM lineage),
	(SELECT coalesce(sum(cardinality(job_ids)), 0) FROM lineage),
	(SELECT count(*) FROM lineage CROSS JOIN LATERAL (
		SELECT FROM etl_idempotency_records AS record
		WHERE record.principal_scope_hash = lineage.principal_scope_hash AND record.job_record_id = ANY (lineage.job_ids)
		OFFSET 0) AS ledger){{template "last_of_page"}}

-- name: purge
-- Deletes lineages whole. A replay that comes later waits, and does not find its source. One that committed since the statement
-- began is not seen by it, and makes the foreign keys refuse the statement when it ends; they are checked once all rows are gone,
-- so leaves, roots and ledger rows may go in any order.
{{template "old_lineages"}}
-- It first locks each job of theirs and never waits: a lineage that a replay, or another purge, holds a job of stays.
, held AS MATERIALIZED (
	SELECT lineage.*, job.job_record_id
	FROM lineage CROSS JOIN LATERAL (
		SELECT job_record_id
		FROM etl_job_records
		WHERE principal_scope_hash = lineage.principal_scope_hash AND job_record_id = ANY (lineage.job_ids)
		FOR UPDATE SKIP LOCKED
	) AS job
), whole AS MATERIALIZED (
	SELECT principal_scope_hash, root_id, job_ids
	FROM held
	GROUP BY principal_scope_hash, root_id, job_ids
	HAVING count(*) = cardinality(job_ids)
), ledger AS (
	DELETE FROM etl_idempotency_records AS record USING whole
	WHERE record.principal_scope_hash = whole.principal_scope_hash AND record.job_record_id = ANY (whole.job_ids)
	RETURNING 1
), attempt AS (
	DELETE FROM etl_job_attempts AS attempt USING whole
	WHERE attempt.principal_scope_hash = whole.principal_scope_hash AND attempt.job_record_id = ANY (whole.job_ids)
), job AS (
	DELETE FROM etl_job_records AS job USING whole
	WHERE job.principal_scope_hash = whole.principal_scope_hash AND job.job_record_id = ANY (whole.job_ids)
	RETURNING 1
)
SELECT (SELECT count(*) FROM whole), (SELECT count(*) FROM job), (SELECT count(*) FROM ledger){{template "last_of_page"}}
