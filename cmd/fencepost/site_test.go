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
	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

var signIn = regexp.MustCompile(`Sign in as "operator" with the password (\w+) `)

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
	dir := pgtest.DataDir(t)
	first := start(t, nil, privately(dir)...)
	told := signIn.FindStringSubmatch(first.Text)
	require.NotNil(t, told, first.Text)
	require.Contains(t, first.Text, filepath.Join(dir, "users"))
	a := servertest.CallAs(t, http.DefaultClient, "operator", told[1],
		http.MethodPost, first.API+"/api/etl/jobs", `[]`, "Idempotency-Key", "kept")
	require.Equal(t, http.StatusAccepted, a.Status)
	require.Equal(t, 0, first.end().code)
	require.NoFileExists(t, filepath.Join(dir, "postgres", "postmaster.pid"), "PostgreSQL was stopped")

	second := start(t, nil, privately(dir)...)
	require.NotContains(t, second.Text, "password")
	again := servertest.CallAs(t, http.DefaultClient, "operator", told[1],
		http.MethodPost, second.API+"/api/etl/jobs", `[]`, "Idempotency-Key", "kept")
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, a.Header.Get("Location"), again.Header.Get("Location"))
	require.Equal(t, 0, second.end().code)
}

func TestUsersFileThatIsThereIsKept(t *testing.T) {
	t.Parallel()
	users := usersFile(t)
	p := start(t, nil, privately(pgtest.DataDir(t), "--users-file", users)...)
	require.NotContains(t, p.Text, "password")
	require.Equal(t, http.StatusOK, servertest.Call(t, http.MethodGet, p.API+"/api/etl/jobs", "").Status)
}

func TestServerEndsWhenItsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	p := start(t, nil, privately(dir)...)
	require.NoError(t, syscall.Kill(postmaster(t, dir), syscall.SIGQUIT))
	o := <-p.ended
	p.ended <- o
	require.Equal(t, 1, o.code)
	require.Contains(t, o.stderr, "the private PostgreSQL has ended")
	require.Contains(t, o.stderr, filepath.Join(dir, "postgres", "postgres.log"))
}

func TestStartThatFailsLeavesNoPostgreSQLBehind(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	message := refused(t, privately(dir, "--users-file", filepath.Join(dir, "none", "users"))...)
	require.Contains(t, message, "no such file")
	require.NoFileExists(t, filepath.Join(dir, "postgres", "postmaster.pid"))
}

func TestDatabaseThatCannotBeMigratedStopsTheStart(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
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

	foreign := pgtest.DataDir(t)
	require.NoError(t, os.MkdirAll(filepath.Join(foreign, "postgres"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "postgres", "photo"), nil, 0o600))
	require.Contains(t, refused(t, privately(foreign)...), "not a PostgreSQL data directory")
	require.FileExists(t, filepath.Join(foreign, "postgres", "photo"))
}
