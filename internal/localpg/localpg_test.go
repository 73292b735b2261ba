package localpg

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDataSurvivesARestart(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	cfg := Config{DataDir: filepath.Join(reachableDir(t), "new", "pg"), Log: slog.New(slog.NewTextHandler(&logged, nil))}

	s := start(t, cfg)
	execute(t, s.URL(), "CREATE TABLE kept AS SELECT 7 AS n")
	require.NoError(t, s.Stop())
	waitClosed(t, s.Done())
	require.NoError(t, s.Stop(), "stopping again is harmless")

	s = start(t, cfg)
	require.Equal(t, 7, query[int](t, s.URL(), "SELECT n FROM kept"))
	require.Equal(t, 1, strings.Count(logged.String(), "data directory created"))
	require.Equal(t, 2, strings.Count(logged.String(), "PostgreSQL started"))
}

func TestTheServerIsDurableAndPrivate(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "a+strange \"name\" & more")
	s := start(t, Config{DataDir: dataDir, Settings: []string{"max_connections=17"}})

	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
		"listen_addresses": "", "unix_socket_permissions": "0700",
		"server_encoding": "UTF8", "lc_collate": "C", "TimeZone": "UTC",
		"log_min_messages": "log", "max_connections": "17",
	} {
		got := query[string](t, s.URL(), `SELECT CASE '`+setting+`' WHEN 'lc_collate'
			THEN (SELECT datcollate FROM pg_database WHERE datname = current_database())
			ELSE current_setting('`+setting+`', true) END`)
		require.Equal(t, want, strings.TrimPrefix(got, "Etc/"), setting)
	}
	info, err := os.Stat(dataDir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	log, err := os.ReadFile(filepath.Join(dataDir, "postgres.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "ready to accept connections")
}

func TestAnEmptyDirectoryIsUsed(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "pg")
	require.NoError(t, os.Mkdir(dataDir, 0o755))
	start(t, Config{DataDir: dataDir})
}

func TestAPathUnfitForASocketMovesItToATemporaryDirectory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("long", 25), "a,b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dataDir := filepath.Join(reachableDir(t), name)
			s := start(t, Config{DataDir: dataDir})

			socketDir := query[string](t, s.URL(), "SHOW unix_socket_directories")
			require.NotEqual(t, dataDir, socketDir)
			info, err := os.Stat(socketDir)
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
			require.NoError(t, s.Stop())
			require.NoDirExists(t, socketDir)
		})
	}
}

func TestASecondServerOnTheSameDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "pg")
	first := start(t, Config{DataDir: dataDir})

	_, err := Start(t.Context(), Config{DataDir: dataDir, BinDir: testBinDir(t)})

	require.ErrorContains(t, err, "is in use by another server")
	require.Equal(t, 1, query[int](t, first.URL(), "SELECT 1"), "the first still serves")
}

func TestAKilledParentLeavesACleanlyStoppedDatabase(t *testing.T) {
	t.Parallel()
	for name, user := range map[string]account{"this user": currentUser(), "an ordinary user": ordinaryUser(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dataDir := filepath.Join(reachableDir(t), "pg")
			h := startHelper(t, dataDir, user)
			execute(t, h.url, "CREATE TABLE kept AS SELECT 7 AS n")
			require.NoError(t, h.cmd.Process.Kill())
			require.Error(t, h.cmd.Wait())

			lockFile := filepath.Join(dataDir, "postmaster.pid")
			require.Eventually(t, func() bool {
				_, err := os.Stat(lockFile)
				return errors.Is(err, fs.ErrNotExist)
			}, patience, readyPollInterval)

			// Its last words come just after the lock file went.
			require.Eventually(t, func() bool {
				log, err := os.ReadFile(filepath.Join(dataDir, "postgres.log"))
				return err == nil && strings.Contains(string(log), "database system is shut down")
			}, patience, readyPollInterval)
			require.Equal(t, 7, query[int](t, start(t, Config{DataDir: dataDir}).URL(), "SELECT n FROM kept"))
		})
	}
}

func TestAnOrdinaryUserStartsAndStops(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "pg")
	h := startHelper(t, dataDir, ordinaryUser(t))
	require.Equal(t, 1, query[int](t, h.url, "SELECT 1"))
	require.NoError(t, h.stdin.Close())
	require.NoError(t, h.cmd.Wait())
	require.NoFileExists(t, filepath.Join(dataDir, "postmaster.pid"))
}

func TestDoneTellsThatPostgreSQLDied(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "pg")
	s := start(t, Config{DataDir: dataDir})
	require.NoError(t, s.process.cmd.Process.Kill())
	waitClosed(t, s.Done())
	require.ErrorContains(t, s.Stop(), "killed")

	again := start(t, Config{DataDir: dataDir})
	require.Equal(t, 1, query[int](t, again.URL(), "SELECT 1"), "PostgreSQL clears what the crash left")
}

func TestStartStopsWhatItStartedWhenTheCallerGivesUp(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "pg")
	require.NoError(t, start(t, Config{DataDir: dataDir}).Stop())
	c, err := newCluster(t.Context(), Config{DataDir: dataDir, BinDir: testBinDir(t)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err = c.start(ctx)

	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, filepath.Join(dataDir, "postmaster.pid"))
}

func TestAFailedStartNamesTheLog(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "pg")
	_, err := Start(t.Context(), Config{DataDir: dataDir, BinDir: testBinDir(t), Settings: []string{"no_such_setting=1"}})
	require.ErrorContains(t, err, filepath.Join(dataDir, "postgres.log"))
}

func TestALinkInPlaceOfTheLogIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	dataDir := filepath.Join(dir, "pg")
	require.NoError(t, start(t, Config{DataDir: dataDir}).Stop())
	require.NoError(t, os.Remove(filepath.Join(dataDir, "postgres.log")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dataDir, "postgres.log")))

	_, err := Start(t.Context(), Config{DataDir: dataDir, BinDir: testBinDir(t)})

	require.ErrorIs(t, err, syscall.ELOOP)
	require.NoFileExists(t, filepath.Join(dir, "elsewhere"))
}

func TestNoTemporaryDirectoryForTheSocketStopsTheStart(t *testing.T) {
	dataDir := filepath.Join(reachableDir(t), strings.Repeat("long", 25))
	t.Setenv("TMPDIR", "/nonexistent")
	_, err := Start(t.Context(), Config{DataDir: dataDir, BinDir: testBinDir(t)})
	require.ErrorContains(t, err, "socket directory")
}

func TestAProgramThatCannotStartCountsAsEnded(t *testing.T) {
	t.Parallel()
	cleaned := false
	p := startProcess(currentUser().command(t.Context(), "/", "/nonexistent"), func() { cleaned = true })
	waitClosed(t, p.done)
	p.interrupt()
	require.ErrorIs(t, p.err, fs.ErrNotExist)
	require.Zero(t, p.pid())
	require.True(t, cleaned)
}
