-- The roles of Fencepost, and a database that is theirs alone. Run it once as a superuser, connected to the empty database:
--
--   psql --file deploy/roles/roles.sql postgres://postgres@db.example.com/fencepost
--
-- The roles have no password, so that nobody can use one yet. Then `fencepost migrate up` as fencepost_migrator, and
-- grants.sql after each migration. It does no harm to run either file again.

DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['fencepost_migrator', 'fencepost_server', 'fencepost_retention', 'fencepost_reader'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I LOGIN', role_name);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- another database of the same server has made it
        END;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role_name);
    END LOOP;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
END
$$;

-- The migrator owns what it makes. The others cannot make anything, and own nothing.
ALTER SCHEMA public OWNER TO fencepost_migrator;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO fencepost_server, fencepost_retention, fencepost_reader;
