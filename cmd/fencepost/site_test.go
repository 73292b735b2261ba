package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/localpg"
)

var signIn = regexp.MustCompile(`Sign in as "operator" with the password (\w+) `)

// dataDir is a directory for a private PostgreSQL, which may run as another user; t.TempDir is closed to others.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fencepost-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return filepath.Join(dir, "data")
}

// privately are the flags of a server with a private PostgreSQL.
func privately(dir string, args ...string) []string {
	common := []string{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	if bin := os.Getenv("FENCEPOST_TEST_POSTGRES_BIN"); bin != "" {
		common = append(common, "--postgres-bin", bin)
	}
	return append(common, args...)
}

func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	return pid
}

func TestFirstStartMakesADatabaseAndAnOperatorAndTheNextOnesKeepThem(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := start(t, nil, serveIsReady, privately(dir)...)
	told := signIn.FindStringSubmatch(first.announced)
	require.NotNil(t, told, first.announced)
	require.Contains(t, first.announced, filepath.Join(dir, "users"))
	a := callAs(t, http.DefaultClient, operator, told[1],
		http.MethodPost, first.api+"/api/etl/jobs", `[]`, "Idempotency-Key", "kept")
	require.Equal(t, http.StatusAccepted, a.status)
	require.Equal(t, 0, first.end().code)
	require.NoFileExists(t, filepath.Join(dir, "postgres", "postmaster.pid"), "PostgreSQL was stopped")

	second := start(t, nil, serveIsReady, privately(dir)...)
	require.NotContains(t, second.announced, "password")
	again := callAs(t, http.DefaultClient, operator, told[1],
		http.MethodPost, second.api+"/api/etl/jobs", `[]`, "Idempotency-Key", "kept")
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, a.header.Get("Location"), again.header.Get("Location"))
	require.Equal(t, 0, second.end().code)
}

func TestUsersFileThatIsThereIsKept(t *testing.T) {
	t.Parallel()
	users := usersFile(t)
	p := start(t, nil, serveIsReady, privately(dataDir(t), "--users-file", users)...)
	require.NotContains(t, p.announced, "password")
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.api+"/api/etl/jobs", "").status)
}

func TestServerEndsWhenItsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	p := start(t, nil, serveIsReady, privately(dir)...)
	require.NoError(t, syscall.Kill(postmaster(t, dir), syscall.SIGQUIT))
	o := <-p.ended
	p.ended <- o
	require.Equal(t, 1, o.code)
	require.Contains(t, o.stderr, "the private PostgreSQL has ended")
	require.Contains(t, o.stderr, filepath.Join(dir, "postgres", "postgres.log"))
}

func TestStartThatFailsLeavesNoPostgreSQLBehind(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	message := refused(t, privately(dir, "--users-file", filepath.Join(dir, "none", "users"))...)
	require.Contains(t, message, "no such file")
	require.NoFileExists(t, filepath.Join(dir, "postgres", "postmaster.pid"))
}

func TestDatabaseThatCannotBeMigratedStopsTheStart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	makeForeignTable(t, dir)
	require.Contains(t, refused(t, privately(dir)...), "already exists")
	require.NoFileExists(t, filepath.Join(dir, "postgres", "postmaster.pid"))
}

// makeForeignTable makes a private PostgreSQL in which somebody has taken the name of Fencepost's table.
func makeForeignTable(t *testing.T, dir string) {
	t.Helper()
	bin, err := localpg.Find(os.Getenv("FENCEPOST_TEST_POSTGRES_BIN"))
	require.NoError(t, err)
	server, err := localpg.Start(t.Context(), localpg.Config{DataDir: filepath.Join(dir, "postgres"), BinDir: bin})
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `CREATE TABLE etl_job_records ()`)
	require.NoError(t, err)
	require.NoError(t, conn.Close(context.Background()))
	require.NoError(t, server.Stop())
}

func TestPrivatePostgreSQLNeedsProgramsAndADirectory(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "serve", "--postgres-bin", t.TempDir()), "--postgres-bin")
	require.Contains(t, refused(t, privately(filepath.Join(os.DevNull, "x"))...), "--data-dir: ")

	foreign := dataDir(t)
	require.NoError(t, os.MkdirAll(filepath.Join(foreign, "postgres"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "postgres", "photo"), nil, 0o600))
	require.Contains(t, refused(t, privately(foreign)...), "not a PostgreSQL data directory")
	require.FileExists(t, filepath.Join(foreign, "postgres", "photo"))
}

func TestDefaultDataDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid  int
		env  env
		want string
	}{
		{0, env{"HOME": "/root", "XDG_DATA_HOME": "/root/data"}, "/var/lib/fencepost"},
		{1000, env{"HOME": "/home/ann", "XDG_DATA_HOME": "/data/ann"}, "/data/ann/fencepost"},
		{1000, env{"HOME": "/home/ann", "XDG_DATA_HOME": "relative"}, "/home/ann/.local/share/fencepost"},
		{1000, env{"HOME": "/home/ann"}, "/home/ann/.local/share/fencepost"},
	} {
		dir, err := defaultDataDirectory(c.uid, c.env.lookup)
		require.NoError(t, err)
		require.Equal(t, c.want, dir)
	}
	_, err := dataDirectory("", 1000, env{}.lookup)
	require.ErrorContains(t, err, "--data-dir")
}

func TestDataDirectoryIsClosedToOthersUnlessPostgreSQLRunsAsAnother(t *testing.T) {
	t.Parallel()
	for uid, want := range map[int]os.FileMode{1000: 0o700, 0: 0o711} {
		dir, err := dataDirectory(filepath.Join(t.TempDir(), "data"), uid, env{}.lookup)
		require.NoError(t, err)
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm())
	}
}
