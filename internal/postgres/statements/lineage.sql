-- The family of a job.

-- name: lineages
-- The lineages that the ids are in, each up to one job over the limit. A root's row also tells which of the ids belong to it.
-- The parameters are subqueries, so that the planner makes one plan for all owners.
WITH lineage AS MATERIALIZED (
	SELECT principal_scope_hash AS owner, coalesce(replay_root_job_record_id, job_record_id) AS root_id,
		array_agg(job_record_id) AS requested
	FROM etl_job_records
	WHERE principal_scope_hash = (SELECT @owner::bytea) AND job_record_id = ANY ((SELECT @ids::uuid[])::uuid[])
	GROUP BY 1, 2
)
SELECT member.*, CASE WHEN member.replay_generation_count IS NULL THEN lineage.requested END
FROM lineage CROSS JOIN LATERAL (
	-- The root, which has no lineage fields.
	SELECT {{template "job_columns"}}
	FROM etl_job_records
	WHERE principal_scope_hash = lineage.owner AND job_record_id = lineage.root_id
	UNION ALL
	-- Its descendants, in the order of the index.
	(SELECT {{template "job_columns"}}
	FROM etl_job_records
	WHERE principal_scope_hash = lineage.owner AND replay_root_job_record_id = lineage.root_id
	ORDER BY replay_generation_count, job_record_id
	LIMIT (SELECT @limit::integer))
) AS member

-- name: lineage sizes
-- Counts whole lineages, by their roots and by status.
SELECT coalesce(replay_root_job_record_id, job_record_id), job_status, count(*), max(coalesce(replay_generation_count, 0)) + 1
FROM etl_job_records
WHERE principal_scope_hash = @owner AND (job_record_id = ANY (@roots) OR replay_root_job_record_id = ANY (@roots))
GROUP BY 1, 2

-- name: ancestries
-- Walks from each of the ids up to its root. Generations only fall on the way, so it ends.
WITH RECURSIVE ancestor AS (
	SELECT job_record_id AS requested_id, {{template "job_columns"}}
	FROM etl_job_records
	WHERE principal_scope_hash = @owner AND job_record_id = ANY (@ids)
	UNION ALL
	SELECT ancestor.requested_id, source.*
	FROM ancestor CROSS JOIN LATERAL (
		SELECT {{template "job_columns"}}
		FROM etl_job_records
		WHERE principal_scope_hash = @owner AND job_record_id = ancestor.replay_source_job_record_id
	) AS source
)
SELECT {{template "job_columns"}}, requested_id
FROM ancestor
ORDER BY requested_id, coalesce(replay_generation_count, 0)

-- name: lineage summary
-- The root and the size of the lineage that a job is in.
SELECT root_id, 1 + count(member.job_record_id), 1 + coalesce(max(member.replay_generation_count), 0)
FROM (
	SELECT coalesce(replay_root_job_record_id, job_record_id) AS root_id
	FROM etl_job_records
	WHERE principal_scope_hash = @owner AND job_record_id = @id
) AS requested
LEFT JOIN etl_job_records AS member
	ON member.principal_scope_hash = @owner AND member.replay_root_job_record_id = root_id
GROUP BY root_id

-- name: lineage page
-- The jobs behind a position, in the order of the lineage index.
WITH requested AS MATERIALIZED (
	SELECT coalesce(replay_root_job_record_id, job_record_id) AS root_id
	FROM etl_job_records
	WHERE principal_scope_hash = @owner AND job_record_id = @id
)
-- The root, which has no lineage fields, comes before all of them.
(SELECT {{template "job_columns"}}
FROM etl_job_records
WHERE principal_scope_hash = @owner AND job_record_id = (SELECT root_id FROM requested)
	AND @after_id = '00000000-0000-0000-0000-000000000000'::uuid)
UNION ALL
(SELECT {{template "job_columns"}}
FROM etl_job_records
WHERE principal_scope_hash = @owner AND replay_root_job_record_id = (SELECT root_id FROM requested)
	AND (replay_generation_count, job_record_id) > (@after_generation, @after_id)
ORDER BY replay_generation_count, job_record_id
LIMIT @limit)
