package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

func TestSessionsReadWhatIsCommittedWhateverTheDatabaseSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	database := pgx.Identifier{w.admin.Config().ConnConfig.Database}.Sanitize()
	w.mustExec("ALTER DATABASE " + database + " SET default_transaction_isolation = 'serializable'")
	var without, with string
	plain, err := pgx.Connect(t.Context(), pgtest.Direct(w.url))
	require.NoError(t, err)
	defer plain.Close(t.Context())
	require.NoError(t, plain.QueryRow(t.Context(), "SHOW transaction_isolation").Scan(&without))
	require.NoError(t, open(t, w.url).QueryRow(t.Context(), "SHOW transaction_isolation").Scan(&with))
	require.Equal(t, []string{"serializable", "read committed"}, []string{without, with})
}
