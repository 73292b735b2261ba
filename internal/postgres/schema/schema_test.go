package schema

import (
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"fencepost/deploy/roles"
	"fencepost/internal/pgtest"
)

func TestMigratingUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	pool := pgtest.PoolOn(t, url)
	want := latestVersion()

	require.Equal(t, &SchemaError{Have: 0, Want: want}, CheckSchema(t.Context(), pool))
	require.NoError(t, MigrateUp(t.Context(), url))
	require.NoError(t, CheckSchema(t.Context(), pool))
	for version := want - 1; version >= 0; version-- {
		require.NoError(t, MigrateDown(t.Context(), url, version))
		err := CheckSchema(t.Context(), pool)
		require.Equal(t, &SchemaError{Have: version, Want: want}, err)
		require.ErrorContains(t, err, "fencepost migrate up")
	}
	require.NoError(t, MigrateUp(t.Context(), url))
	require.NoError(t, CheckSchema(t.Context(), pool))
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	pool := pgtest.SuperuserPool(t, pgtest.URL(t))
	_, err := pool.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
	require.NoError(t, err)
	err = CheckSchema(t.Context(), pool)
	require.Equal(t, &SchemaError{Have: 99999, Want: latestVersion()}, err)
	require.ErrorContains(t, err, "newer fencepost")
}

func TestMigrationsAreListedWithTheirState(t *testing.T) {
	t.Parallel()
	url := pgtest.As(t, pgtest.URL(t), roles.Migrator)
	require.NoError(t, MigrateDown(t.Context(), url, 1))
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
		group.Go(func() { errs <- MigrateUp(t.Context(), url) })
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, CheckSchema(t.Context(), pgtest.PoolOn(t, url)))
}

func TestMigratingWithoutFilesIsAnError(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, migrate(pgtest.EmptyURL(t), fstest.MapFS{}, nil), goose.ErrNoMigrations)
}

func TestMalformedDatabaseURLIsAnError(t *testing.T) {
	t.Parallel()
	const url = "postgres://user@host:notaport/"
	require.Error(t, MigrateUp(t.Context(), url))
	_, err := Open(t.Context(), url, 1)
	require.Error(t, err)
}
