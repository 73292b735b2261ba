-- What a connection or a transaction is told, and what is asked of the server.

-- name: session
-- Run once on each connection, so that nothing that ALTER ROLE or ALTER DATABASE says changes what the statements do. Those decide races
-- by reading a row again once it is free, which PostgreSQL does in this isolation level only; in others, each conflict would be an
-- error. Nothing is compiled: that takes half a second, and the planner finds it worthwhile for lists of unresolved jobs, which are read
-- in some milliseconds. Timeouts are those that a transaction sets. What the URL of the database names is meant, and is kept; what a
-- version of PostgreSQL does not have is left out.
SELECT set_config(wanted.setting, wanted.value, false)
FROM (VALUES
	('default_transaction_isolation', 'read committed'),
	('default_transaction_deferrable', 'off'),
	('jit', 'off'),
	('standard_conforming_strings', 'on'),
	('DateStyle', 'ISO, MDY'),
	('IntervalStyle', 'postgres'),
	('TimeZone', 'UTC'),
	('bytea_output', 'hex'),
	('extra_float_digits', '1'),
	('row_security', 'on'),
	('search_path', '"$user", public'),
	('lock_timeout', '0'),
	('statement_timeout', '0'),
	('transaction_timeout', '0'),
	('idle_in_transaction_session_timeout', '0'),
	('idle_session_timeout', '0')
) AS wanted (setting, value)
-- This is six times as fast as a look at pg_settings.
WHERE pg_catalog.current_setting(wanted.setting, true) IS NOT NULL
	AND lower(wanted.setting) <> ALL (string_to_array(@kept, ','))

-- name: forget session
-- Run after each load of an operator's own, so that the next one on this connection finds nothing of it: no role, settings, temporary tables,
-- cursors, sequences' last values, advisory locks, listens, or statements that SQL has prepared. Those that we have prepared stay.
CLOSE ALL; UNLISTEN *; RESET ROLE; RESET ALL; DISCARD TEMP; DISCARD SEQUENCES; SELECT pg_advisory_unlock_all();
DO $$
DECLARE
	prepared text;
BEGIN
	FOR prepared IN SELECT name FROM pg_catalog.pg_prepared_statements WHERE from_sql LOOP
		EXECUTE format('DEALLOCATE %I', prepared);
	END LOOP;
END
$$

-- name: begin
begin

-- name: commit
commit

-- name: rollback
rollback

-- name: set
-- Gives a parameter of the server a value until the end of the transaction.
SELECT set_config(@setting, @value, true)
