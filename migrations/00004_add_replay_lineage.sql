-- Replays: a new row names its immediate source, the root of its lineage and its generation, for ever.

-- +goose Up
ALTER TABLE etl_job_records
    ADD COLUMN replay_source_job_record_id uuid,
    ADD COLUMN replay_root_job_record_id   uuid,
    ADD COLUMN replay_generation_count     integer,
    ADD CONSTRAINT etl_job_records_replay_all_or_none CHECK (
        num_nulls(replay_source_job_record_id, replay_root_job_record_id, replay_generation_count) IN (0, 3)),
    ADD CONSTRAINT etl_job_records_replay_generation_range CHECK (replay_generation_count BETWEEN 1 AND 100),
    ADD CONSTRAINT etl_job_records_replay_of_another CHECK (
        replay_source_job_record_id <> job_record_id AND replay_root_job_record_id <> job_record_id),
    -- Both references carry the owner, so another owner's job cannot be named; nothing cascades.
    ADD CONSTRAINT etl_job_records_replay_source_exists
        FOREIGN KEY (principal_scope_hash, replay_source_job_record_id) REFERENCES etl_job_records ON DELETE RESTRICT,
    ADD CONSTRAINT etl_job_records_replay_root_exists
        FOREIGN KEY (principal_scope_hash, replay_root_job_record_id) REFERENCES etl_job_records ON DELETE RESTRICT;

-- The fields of a row alone cannot tell whether its lineage is true; this trigger looks at source and root, and holds both
-- until the transaction ends. Generations only grow, so there can be no cycle.
-- +goose StatementBegin
CREATE FUNCTION etl_check_replay_lineage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    source etl_job_records;
    root   etl_job_records;
BEGIN
    SELECT * INTO source FROM etl_job_records
        WHERE principal_scope_hash = NEW.principal_scope_hash AND job_record_id = NEW.replay_source_job_record_id
        FOR SHARE;
    SELECT * INTO root FROM etl_job_records
        WHERE principal_scope_hash = NEW.principal_scope_hash AND job_record_id = NEW.replay_root_job_record_id
        FOR SHARE;
    IF (source.job_status IN ('FAILED', 'CANCELLED')
        AND source.request_digest = NEW.request_digest
        AND NEW.replay_root_job_record_id = coalesce(source.replay_root_job_record_id, source.job_record_id)
        AND NEW.replay_generation_count = coalesce(source.replay_generation_count, 0) + 1
        AND root.job_record_id IS NOT NULL
        AND root.replay_root_job_record_id IS NULL
        AND NEW.job_status = 'PENDING'
        AND NEW.attempt_count = 0) IS NOT TRUE
    THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME,
            MESSAGE = 'a replay must be a new pending job with the digest, the root and the next generation of its failed or cancelled source';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER etl_job_records_replay_lineage_is_true
    BEFORE INSERT ON etl_job_records
    FOR EACH ROW WHEN (NEW.replay_source_job_record_id IS NOT NULL)
    EXECUTE FUNCTION etl_check_replay_lineage();

CREATE TRIGGER etl_job_records_replay_lineage_is_fixed
    BEFORE UPDATE OF replay_source_job_record_id, replay_root_job_record_id, replay_generation_count
    ON etl_job_records
    FOR EACH ROW WHEN (
        (OLD.replay_source_job_record_id, OLD.replay_root_job_record_id, OLD.replay_generation_count)
        IS DISTINCT FROM
        (NEW.replay_source_job_record_id, NEW.replay_root_job_record_id, NEW.replay_generation_count))
    EXECUTE FUNCTION etl_refuse_job_record_change();

-- +goose Down
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM etl_job_records WHERE replay_source_job_record_id IS NOT NULL) THEN
        RAISE EXCEPTION 'etl_job_records has replays; going down would throw their lineage away. Purge or export them first';
    END IF;
END
$$;
-- +goose StatementEnd
DROP TRIGGER etl_job_records_replay_lineage_is_fixed ON etl_job_records;
DROP TRIGGER etl_job_records_replay_lineage_is_true ON etl_job_records;
DROP FUNCTION etl_check_replay_lineage();
ALTER TABLE etl_job_records
    DROP CONSTRAINT etl_job_records_replay_root_exists,
    DROP CONSTRAINT etl_job_records_replay_source_exists,
    DROP CONSTRAINT etl_job_records_replay_of_another,
    DROP CONSTRAINT etl_job_records_replay_generation_range,
    DROP CONSTRAINT etl_job_records_replay_all_or_none,
    DROP COLUMN replay_generation_count,
    DROP COLUMN replay_root_job_record_id,
    DROP COLUMN replay_source_job_record_id;
