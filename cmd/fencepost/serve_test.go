package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

func TestServeRefusesADatabaseThatItCannotUse(t *testing.T) {
	t.Parallel()
	users := usersFile(t)
	for url, want := range map[string]string{
		pgtest.EmptyURL(t):     "fencepost migrate up",
		unreachable:            "the database cannot be reached",
		"postgres://%":         "--database-url: ",
		"postgres://host:port": "--database-url: ",
	} {
		message := refused(t, "serve", "--database-url", url, "--users-file", users)
		require.Contains(t, message, want)
		require.NotContains(t, message, "secret")
	}
}

func TestMalformedURLOfTheListenerStopsTheStart(t *testing.T) {
	t.Parallel()
	message := refused(t, "work", "--database-url", unreachable, "--listen-url", "postgres://%")
	require.Contains(t, message, "--listen-url: ")
}

func TestServeOnADatabaseNeedsUsers(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	require.Contains(t, refused(t, "serve", "--database-url", url), "--users-file")
	message := refused(t, "serve", "--database-url", url, "--users-file", filepath.Join(t.TempDir(), "none"))
	require.Contains(t, message, "--users-file: ")
}

func TestBadLoadStatementStopsTheStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "load.sql")
	require.NoError(t, os.WriteFile(file, []byte(`SELECT @misspelt`), 0o600))
	for _, path := range []string{file, file + ".missing"} {
		message := refused(t, "work", "--database-url", unreachable, "--load-sql-file", path)
		require.Contains(t, message, "--load-sql-file: ")
	}
}

func TestExporterThatDoesNotExistStopsTheStart(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "unknown")
	url := pgtest.URL(t)
	require.Contains(t, refused(t, "serve", "--database-url", url, "--users-file", usersFile(t)), "OTEL_TRACES_EXPORTER")
	require.Contains(t, refused(t, "work", "--database-url", url), "OTEL_TRACES_EXPORTER")
}

func TestReplicaWhoseURLIsMalformedStopsTheStart(t *testing.T) {
	t.Parallel()
	message := refused(t, "serve", "--database-url", pgtest.URL(t), "--users-file", usersFile(t), "--replica-url", "postgres://%")
	require.Contains(t, message, "--replica-url: ")
}

func TestServeTellsWhereItIsAndLogsAsItIsTold(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "serve", "--database-url", pgtest.URL(t), "--users-file", usersFile(t), "--workers=0",
		"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--log-format=json", "--log-level=debug")
	for _, page := range []string{"/api/etl/jobs", "/graphql", "/playground", "/lineage"} {
		require.Contains(t, p.Text, p.API+page)
		require.NotEqual(t, http.StatusNotFound, servertest.Call(t, http.MethodGet, p.API+page, "").Status, page)
	}
	require.Equal(t, http.StatusOK, servertest.Call(t, http.MethodGet, p.Admin+"/metrics", "").Status)
	o := p.end()
	require.Equal(t, 0, o.code)
	require.Contains(t, o.stderr, `"msg":"request answered"`)
}
