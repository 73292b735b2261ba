package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
)

func TestReadOnlyDatabaseIsNotReady(t *testing.T) {
	t.Parallel()
	url := pgtest.Direct(pgtest.URL(t))
	require.NoError(t, CheckReady(t.Context(), pgtest.PoolOn(t, url)))
	readOnly := pgtest.PoolOn(t, url+"&default_transaction_read_only=on")
	require.NoError(t, CheckSchema(t.Context(), readOnly))
	require.ErrorIs(t, CheckReady(t.Context(), readOnly), job.ErrUnavailable)

	var old *SchemaError
	require.ErrorAs(t, CheckReady(t.Context(), pgtest.PoolOn(t, pgtest.EmptyURL(t))), &old)
}
