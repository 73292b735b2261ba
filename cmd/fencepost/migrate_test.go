package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

func migrate(t *testing.T, url string, args ...string) string {
	t.Helper()
	o := invoke(t, env{"FENCEPOST_DATABASE_URL": url}, nil, append([]string{"migrate"}, args...)...)
	require.Equal(t, 0, o.code, o.stderr)
	return o.stdout
}

func TestMigrateGoesUpAndDownByOneOrToAVersion(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	require.Regexp(t, `1 +00001_\S+ +no\n`, migrate(t, url, "status"))

	require.Contains(t, migrate(t, url, "up"), "at version 13.")
	require.Regexp(t, `13 +00013_\S+ +20\d\d-\S+Z\n`, migrate(t, url, "status"))
	require.Contains(t, migrate(t, url, "down"), "at version 12.")
	require.Contains(t, migrate(t, url, "down", "--to", "2"), "at version 2.")
	require.Equal(t, 2, strings.Count(migrate(t, url, "status"), "Z\n"))
	require.Contains(t, migrate(t, url, "down", "--to", "0"), "at version 0.")
	require.Contains(t, refused(t, "migrate", "down", "--database-url", url), "no schema to take back")
}

func TestMigrateNeedsADatabase(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"up", "down", "status"} {
		require.Contains(t, refused(t, "migrate", command), "--database-url or FENCEPOST_DATABASE_URL")
	}
}

func TestMigrateTellsThatTheDatabaseCannotBeReached(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"up", "down", "status"} {
		message := refused(t, "migrate", command, "--database-url", unreachable)
		require.Contains(t, message, "connect")
		require.NotContains(t, message, "secret")
	}
}
