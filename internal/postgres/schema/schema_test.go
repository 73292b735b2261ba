package schema

import (
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"fencepost/deploy/roles"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestMigratingUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	pool := pgtest.PoolOn(t, url)
	want := latestVersion()

	require.Equal(t, &Error{Have: 0, Want: want}, Check(t.Context(), pool))
	require.NoError(t, Up(t.Context(), url))
	require.NoError(t, Check(t.Context(), pool))
	for version := want - 1; version >= 0; version-- {
		require.NoError(t, Down(t.Context(), url, version))
		err := Check(t.Context(), pool)
		require.Equal(t, &Error{Have: version, Want: want}, err)
		require.ErrorContains(t, err, "fencepost migrate up")
	}
	require.NoError(t, Up(t.Context(), url))
	require.NoError(t, Check(t.Context(), pool))
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	pool := pgtest.SuperuserPool(t, pgtest.URL(t))
	_, err := pool.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
	require.NoError(t, err)
	err = Check(t.Context(), pool)
	require.Equal(t, &Error{Have: 99999, Want: latestVersion()}, err)
	require.ErrorContains(t, err, "newer fencepost")
}

func TestMigrationsAreListedWithTheirState(t *testing.T) {
	t.Parallel()
	url := pgtest.As(t, pgtest.URL(t), roles.Migrator)
	require.NoError(t, Down(t.Context(), url, 1))
	list, err := Migrations(t.Context(), url)
	require.NoError(t, err)
	require.Len(t, list, int(latestVersion()))
	for i, m := range list {
		require.EqualValues(t, i+1, m.Version)
		require.Equal(t, i == 0, m.Applied, m.Name)
		require.Equal(t, i == 0, !m.AppliedAt.IsZero(), m.Name)
	}
}

func TestConcurrentMigratorsWaitForEachOther(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	var group sync.WaitGroup
	errs := make(chan error, 10)
	for range cap(errs) {
		group.Go(func() { errs <- Up(t.Context(), url) })
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, Check(t.Context(), pgtest.PoolOn(t, url)))
}

func TestMigratingWithoutFilesIsAnError(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, migrate(pgtest.EmptyURL(t), fstest.MapFS{}, nil), goose.ErrNoMigrations)
}

func TestMalformedDatabaseURLIsAnError(t *testing.T) {
	t.Parallel()
	const url = "postgres://user@host:notaport/"
	require.Error(t, Up(t.Context(), url))
}

func TestReadOnlyDatabaseIsNotReady(t *testing.T) {
	t.Parallel()
	url := pgtest.Direct(pgtest.URL(t))
	require.NoError(t, Ready(t.Context(), pgtest.PoolOn(t, url)))
	readOnly := pgtest.PoolOn(t, url+"&default_transaction_read_only=on")
	require.NoError(t, Check(t.Context(), readOnly))
	require.ErrorIs(t, Ready(t.Context(), readOnly), job.ErrUnavailable)

	var old *Error
	require.ErrorAs(t, Ready(t.Context(), pgtest.PoolOn(t, pgtest.EmptyURL(t))), &old)
}
