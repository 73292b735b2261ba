package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/storetest"
)

// alter gives the database a setting for every later session.
func alter(w *storetest.World, setting string) {
	w.Helper()
	name := pgx.Identifier{w.Admin.Config().ConnConfig.Database}.Sanitize()
	w.MustExec("ALTER DATABASE " + name + " SET " + setting)
}

func TestSettingsOfADatabaseChangeNothing(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"standard_conforming_strings = off", "default_transaction_isolation = 'serializable'", "DateStyle = 'SQL, DMY'", "IntervalStyle = 'sql_standard'",
		"TimeZone = 'Asia/Kathmandu'", "bytea_output = 'escape'",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			w := storetest.New(t, storetest.WithLoad(t, `INSERT INTO processed_data
				SELECT @owner::bytea, @job_record_id::uuid, 1, '\d', @records::jsonb WHERE '\d' ~ '^\\d$'`))
			alter(w, setting)
			w = w.On(storetest.Open(t, pgtest.Direct(w.URL))) // whose sessions are new
			cancelled := w.CancelledJob()
			replay, err := w.Replay(cancelled, "replay")
			require.NoError(t, err)
			require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
			require.Equal(t, job.StatusSucceeded, w.Get(replay.Job.ID).Status)
			require.Equal(t, 1, w.Count(`public.processed_data WHERE record_id = E'\\d'`))
			require.Len(t, w.List(job.Filter{}), 2)
		})
	}
}

func TestTimeoutsOfADatabaseAreNotTheSessions(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	timeouts := []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"}
	for _, name := range timeouts {
		alter(w, name+" = '77s'")
	}
	pool := storetest.Open(t, pgtest.Direct(w.URL))
	for _, name := range timeouts {
		var value string
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value))
		require.Equal(t, "0", value, name)
	}
}

func TestSettingThatTheURLNamesIsKept(t *testing.T) {
	t.Parallel()
	pool := storetest.Open(t, pgtest.Direct(pgtest.URL(t))+"&lock_timeout=7s")
	var kept, set string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_setting('lock_timeout'), current_setting('TimeZone')").Scan(&kept, &set))
	require.Equal(t, "7s", kept)
	require.Equal(t, "UTC", set)
}

// As the owner of the database: what a session can put in front of the tables.
func TestTemporaryTableForgesNoLineage(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	source := w.SucceededJob()
	tx := w.BeginAsAdmin()
	for _, step := range []string{
		"CREATE TEMPORARY TABLE etl_job_records AS SELECT * FROM public.etl_job_records",
		"UPDATE pg_temp.etl_job_records SET job_status = 'FAILED', request_digest = sha256('other bytes')",
	} {
		_, err := tx.Exec(t.Context(), step)
		require.NoError(t, err)
	}
	_, err := tx.Exec(t.Context(), `INSERT INTO public.etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest,
			request_payload, record_count, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
		SELECT principal_scope_hash, gen_random_uuid(), sha256('forged'), sha256('other bytes'), 'other bytes', record_count, job_record_id,
			job_record_id, 1 FROM public.etl_job_records WHERE job_record_id = $1`, source.ID)
	storetest.RequireSQLState(t, "23001", err)
}

func TestInsertNeedsNoSearchPath(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	source := w.CancelledJob()
	tx := w.BeginAsAdmin()
	_, err := tx.Exec(t.Context(), "SET LOCAL search_path = ''")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `INSERT INTO public.etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest,
			request_payload, record_count, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
		SELECT principal_scope_hash, gen_random_uuid(), sha256('replay'), request_digest, 'bytes', record_count, job_record_id,
			job_record_id, 1 FROM public.etl_job_records WHERE job_record_id = $1`, source.ID)
	require.NoError(t, err)
}
