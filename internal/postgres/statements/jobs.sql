-- Reading jobs by their ids.

-- name: jobs
-- The job of each pair of an owner and an id, with its place among the pairs.
-- The arrays are subqueries so that those of all lengths look the same to the planner, which then plans but once.
SELECT {{template "job_columns"}}, place
FROM unnest((SELECT @owners::bytea[]), (SELECT @ids::uuid[])) WITH ORDINALITY AS wanted (owner, id, place)
JOIN etl_job_records ON principal_scope_hash = owner AND job_record_id = id
