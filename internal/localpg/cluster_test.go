package localpg

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// startWith starts a server on dataDir that is expected to fail.
func startWith(t *testing.T, binDir, dataDir string) error {
	t.Helper()
	_, err := Start(t.Context(), Config{DataDir: dataDir, BinDir: binDir})
	require.Error(t, err)
	return err
}

func TestAnotherMajorVersionIsRefused(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "pg")
	require.NoError(t, start(t, Config{DataDir: dataDir}).Stop())
	require.NoError(t, os.WriteFile(filepath.Join(dataDir, "PG_VERSION"), []byte("9\n"), 0o600))
	c, err := newCluster(t.Context(), Config{DataDir: dataDir, BinDir: testBinDir(t)})
	require.NoError(t, err)

	err = startWith(t, testBinDir(t), dataDir)

	require.ErrorContains(t, err, "was written by PostgreSQL 9")
	require.ErrorContains(t, err, "are version "+[]string{"15", "16", "17", "18"}[c.major-minMajor])
	require.FileExists(t, filepath.Join(dataDir, "base", "1", "PG_VERSION"), "nothing is removed")
}

func TestAForeignDirectoryIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(reachableDir(t), "photos")
	require.NoError(t, os.Mkdir(dataDir, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dataDir, "cat.jpg"), []byte("cat"), 0o600))

	require.ErrorContains(t, startWith(t, testBinDir(t), dataDir), "not a PostgreSQL data directory")

	entries, err := os.ReadDir(dataDir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestAPlaceThatCannotHoldADataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	odd := filepath.Join(dir, "odd")
	require.NoError(t, os.MkdirAll(filepath.Join(odd, "PG_VERSION"), 0o755))
	require.NoError(t, ordinaryUser(t).ownPath(filepath.Join(odd, "PG_VERSION")))

	require.ErrorContains(t, startWith(t, testBinDir(t), file), "not a directory")
	require.ErrorContains(t, startWith(t, testBinDir(t), filepath.Join(file, "pg")), "not a directory")
	require.ErrorContains(t, startWith(t, testBinDir(t), "/proc/pg"), "create the data directory")
	require.ErrorContains(t, startWith(t, testBinDir(t), odd), "is a directory")
}

func TestADirectoryThatTheUserCannotEnterIsRefused(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(reachableDir(t), "closed")
	require.NoError(t, os.Mkdir(closed, 0o000))

	err := startWith(t, testBinDir(t), filepath.Join(closed, "pg"))

	require.ErrorContains(t, err, "who runs PostgreSQL, can't enter "+closed)
}

func TestAnInterruptedInitdbLeavesNothingThatLooksComplete(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"initdb fails":                            `echo 15 > "$unfinished/PG_VERSION"; echo "disk is full"; exit 1`,
		"the directory appears in the meantime":   `mkdir -p "$final/somebody-elses"`,
		"the unfinished directory was taken away": `rmdir "$unfinished"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binDir := fakePrograms(t, map[string]string{
				"postgres": version("postgres", "15.1"),
				"initdb": version("initdb", "15.1") + "\n" +
					`unfinished=${1#--pgdata=}; final=${unfinished%.unfinished-*}` + "\n" + script,
			})
			parent := reachableDir(t)
			dataDir := filepath.Join(parent, "pg")

			err := startWith(t, binDir, dataDir)

			if name == "initdb fails" {
				require.ErrorContains(t, err, "disk is full")
			}
			require.NoFileExists(t, filepath.Join(dataDir, "PG_VERSION"))
			unfinished, err := filepath.Glob(dataDir + ".unfinished-*")
			require.NoError(t, err)
			require.Empty(t, unfinished)
		})
	}
}

func TestInitdbEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	started := filepath.Join(reachableDir(t), "started")
	binDir := fakePrograms(t, map[string]string{
		"postgres": version("postgres", "15.1"),
		"initdb":   version("initdb", "15.1") + "\nmkfifo " + started + "; exec cat " + started,
	})
	dataDir := filepath.Join(reachableDir(t), "pg")
	failed := make(chan error)
	go func() {
		_, err := Start(ctx, Config{DataDir: dataDir, BinDir: binDir})
		failed <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(started); return err == nil }, patience, readyPollInterval)
	cancel()
	require.ErrorContains(t, <-failed, "initdb: signal: interrupt")
	require.NoDirExists(t, dataDir)
}

func TestStepsReportThatAPathIsGone(t *testing.T) {
	t.Parallel()
	nobody, err := firstAccount("nobody")
	require.NoError(t, err)
	c := &cluster{account: nobody}
	require.ErrorContains(t, c.initAndRename(t.Context(), "/nonexistent"), "no such file")
	require.ErrorContains(t, syncDir("/nonexistent"), "no such file")
}

func TestRootNeedsAnUnprivilegedUser(t *testing.T) {
	t.Parallel()
	_, err := firstAccount("no-such-user", "nor-this-one")
	require.ErrorContains(t, err, "none of the users")

	a, err := accountFor(0, t.TempDir())
	require.NoError(t, err)
	require.NotZero(t, a.credential.Uid)

	a, err = accountFor(1000, t.TempDir())
	require.NoError(t, err)
	require.Nil(t, a.credential, "an ordinary user runs it as itself")
}

func TestRootRunsAnExistingClusterAsItsOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "PG_VERSION")
	require.NoError(t, os.WriteFile(file, []byte("15\n"), 0o600))
	if owner := ordinaryUser(t); owner.credential != nil {
		_, err := accountFor(0, dir)
		require.ErrorContains(t, err, "belongs to root")
		require.ErrorContains(t, startWith(t, testBinDir(t), dir), "belongs to root")
		require.NoError(t, owner.ownPath(file))
	}
	a, err := accountFor(0, dir)
	require.NoError(t, err)
	require.NotZero(t, a.credential.Uid)
}
