package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/storetest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestSessionsReadWhatIsCommittedWhateverTheDatabaseSays(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	database := pgx.Identifier{w.Admin.Config().ConnConfig.Database}.Sanitize()
	w.MustExec("ALTER DATABASE " + database + " SET default_transaction_isolation = 'serializable'")
	var without, with string
	plain, err := pgx.Connect(t.Context(), pgtest.Direct(w.URL))
	require.NoError(t, err)
	defer plain.Close(t.Context())
	require.NoError(t, plain.QueryRow(t.Context(), "SHOW transaction_isolation").Scan(&without))
	require.NoError(t, storetest.Open(t, w.URL).QueryRow(t.Context(), "SHOW transaction_isolation").Scan(&with))
	require.Equal(t, []string{"serializable", "read committed"}, []string{without, with})
}

func TestConnectionsSayWhoTheyAreUnlessTheURLDoes(t *testing.T) {
	t.Parallel()
	listen, err := db.ParseListen("postgres://host/database")
	require.NoError(t, err)
	require.Equal(t, "fencepost", listen.RuntimeParams["application_name"])
	listen, err = db.ParseListen("postgres://host/database?application_name=other")
	require.NoError(t, err)
	require.Equal(t, "other", listen.RuntimeParams["application_name"])
}

func TestConnectionThatForgetsNothingIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	loads, err := db.OpenLoads(t.Context(), pgtest.Direct(w.URL), 1)
	require.NoError(t, err)
	t.Cleanup(loads.Close)
	conn, err := loads.Acquire(t.Context())
	require.NoError(t, err)
	w.MustExec("SELECT pg_terminate_backend($1, 10000)", conn.Conn().PgConn().PID())
	conn.Release()
	var one int
	require.NoError(t, loads.QueryRow(t.Context(), "SELECT 1").Scan(&one))
}

func TestMalformedURLIsAnError(t *testing.T) {
	t.Parallel()
	const url = "postgres://user@host:notaport/"
	_, err := db.Open(t.Context(), url, 1)
	require.ErrorContains(t, err, "database URL")
	_, err = db.OpenLoads(t.Context(), url, 1)
	require.ErrorContains(t, err, "database URL")
	_, err = db.ParseListen(url)
	require.ErrorContains(t, err, "database URL")
}
