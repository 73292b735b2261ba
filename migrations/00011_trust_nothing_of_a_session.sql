-- Nothing that a session has set, and no temporary table, changes what the functions of the schema look at. Where pg_temp is not named it
-- comes first, and a temporary etl_job_records could forge a lineage.

-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['etl_check_replay_lineage', 'etl_refuse_job_record_change', 'etl_forget_trace'] LOOP
        EXECUTE format('ALTER FUNCTION %I() SET search_path = pg_catalog, %I, pg_temp', name, current_schema());
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
ALTER FUNCTION etl_forget_trace() RESET search_path;
ALTER FUNCTION etl_refuse_job_record_change() RESET search_path;
ALTER FUNCTION etl_check_replay_lineage() RESET search_path;
