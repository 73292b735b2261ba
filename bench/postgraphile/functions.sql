-- What PostGraphile serves: reads of one owner's jobs and lineages, and a cancellation, by the statements that Fencepost runs.

CREATE FUNCTION job_by_id(owner text, id uuid) RETURNS etl_job_records LANGUAGE sql STABLE AS $$
    SELECT *
    FROM etl_job_records
    WHERE principal_scope_hash = decode($1, 'hex') AND job_record_id = $2
$$;

CREATE FUNCTION lineage(owner text, id uuid) RETURNS SETOF etl_job_records LANGUAGE sql STABLE AS $$
    WITH requested AS MATERIALIZED (
        SELECT coalesce(replay_root_job_record_id, job_record_id) AS root_id
        FROM etl_job_records
        WHERE principal_scope_hash = decode($1, 'hex') AND job_record_id = $2
    )
    (SELECT *
    FROM etl_job_records
    WHERE principal_scope_hash = decode($1, 'hex') AND job_record_id = (SELECT root_id FROM requested))
    UNION ALL
    (SELECT *
    FROM etl_job_records
    WHERE principal_scope_hash = decode($1, 'hex') AND replay_root_job_record_id = (SELECT root_id FROM requested)
    ORDER BY replay_generation_count, job_record_id)
$$;

CREATE FUNCTION cancel_job(owner text, id uuid, key text) RETURNS etl_job_records LANGUAGE sql VOLATILE AS $$
    UPDATE etl_job_records
    SET job_status = 'CANCELLED',
        request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
        cancellation_key_hash = sha256(convert_to($3, 'UTF8')), cancellation_code = 'etl_job_cancelled_by_owner',
        job_cancelled_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE principal_scope_hash = decode($1, 'hex') AND job_record_id = $2 AND job_status IN ('PENDING', 'RUNNING')
    RETURNING *
$$;
