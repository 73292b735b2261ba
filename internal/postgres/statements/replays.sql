-- The jobs made directly from others.

-- name: replays
SELECT derived.*
FROM unnest(@sources::uuid[]) AS source (id)
-- One probe of the index for each source, in its order.
CROSS JOIN LATERAL (
	SELECT {{template "job_columns"}}
	FROM etl_job_records
	WHERE principal_scope_hash = @owner AND replay_source_job_record_id = source.id AND job_record_id > @after
	ORDER BY job_record_id
	LIMIT @limit
) AS derived
