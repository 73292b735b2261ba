package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/postgres"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

func TestLoadThatDoesNotFitIsToldByItsPlaceInTheFile(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	w.MustExec(prices)
	w.MustExec("GRANT INSERT ON prices TO PUBLIC")
	for text, place := range map[string]string{
		"-- Prices\nINSERT INTO pricez SELECT @records":                                         "line 2, column 13",
		"INSERT INTO prices (item) SELECT @records::jsonb ->> @job_record_id::text, nothing":    "line 1, column 76",
		"\uFEFF/* ä */ SELECT @records::jsonb, @records::jsonb, @owner::bytea,\n  @records::no": "line 2, column 13",
		"SELECT @records::jsonb; SELECT 1":                                                      "",
	} {
		load, err := postgres.NewLoad(text)
		require.NoError(t, err)
		var fault *worker.LoadError
		require.ErrorAs(t, postgres.Prepare(t.Context(), w.Pool, load), &fault, text)
		require.Equal(t, worker.FaultOfLoad, fault.Fault)
		require.Equal(t, place, fault.Place, text)
	}
	require.NoError(t, w.Store.Prepare(t.Context()), "the built-in load")
	w.MustExec("ALTER TABLE processed_data RENAME TO gone")
	require.Error(t, w.Store.Prepare(t.Context()))
}
