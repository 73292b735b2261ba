package postgres_test

import (
	"errors"
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

func TestLoadIsWhatItIsByNowOnceThatFits(t *testing.T) {
	t.Parallel()
	var now postgres.Load
	var unreadable error
	w := pricesWorld(t, "INSERT INTO prices SELECT @records::jsonb -> 0 ->> 'id', 1", func(c *postgres.Config) {
		c.Reload = func() (postgres.Load, error) { return now, unreadable }
	})
	execute := func() {
		w.Submit()
		require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
		w.MustExec("UPDATE prices SET item = gen_random_uuid()::text")
	}
	unreadable = errors.New("no such file")
	require.NoError(t, w.Store.Prepare(t.Context()), "the one before")
	execute()
	unreadable = nil
	now, _ = postgres.NewLoad("INSERT INTO pricez SELECT @records")
	require.Error(t, w.Store.Prepare(t.Context()))
	execute()
	require.Equal(t, 2, w.Count("prices WHERE price = 1"))
	now, _ = postgres.NewLoad("INSERT INTO prices SELECT @records::jsonb -> 0 ->> 'id', 2")
	require.NoError(t, w.Store.Prepare(t.Context()))
	execute()
	require.Equal(t, 1, w.Count("prices WHERE price = 2"))
}
