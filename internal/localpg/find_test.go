package localpg

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func fakeVersion(t *testing.T, initdb, postgres string) string {
	t.Helper()
	return fakePrograms(t, map[string]string{"initdb": version("initdb", initdb), "postgres": version("postgres", postgres)})
}

func TestFindTakesTheGivenDirectory(t *testing.T) {
	t.Parallel()
	dir := fakeVersion(t, "16.2", "16.2")
	found, err := Find(dir)
	require.NoError(t, err)
	require.Equal(t, dir, found)
}

func TestFindRefusesAGivenDirectoryThatCannotServe(t *testing.T) {
	t.Parallel()
	for dir, reason := range map[string]string{
		fakeVersion(t, "14.9", "14.9"):                             "only 15 to 18 are supported",
		fakeVersion(t, "19beta1", "19beta1"):                       "only 15 to 18 are supported",
		fakeVersion(t, "16.1", "17.1"):                             "of different versions",
		t.TempDir():                                                "no such file",
		fakePrograms(t, map[string]string{"initdb": "echo hello"}): "not a PostgreSQL program",
	} {
		_, err := Find(dir)
		require.ErrorContains(t, err, reason)
		require.ErrorContains(t, err, "--postgres-bin")

		_, err = Start(t.Context(), Config{DataDir: filepath.Join(reachableDir(t), "pg"), BinDir: dir})
		require.ErrorContains(t, err, "who is to run PostgreSQL")
	}
}

func TestFindLooksOnPathFirst(t *testing.T) {
	dir := fakeVersion(t, "15.1", "15.1")
	links := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(dir, "postgres"), filepath.Join(links, "postgres")))
	t.Setenv("PATH", links+":"+os.Getenv("PATH"))

	found, err := Find("")

	require.NoError(t, err)
	require.Equal(t, dir, found, "where the link leads")
}

func TestFindTakesTheNewestSupportedVersion(t *testing.T) {
	t.Parallel()
	want := fakeVersion(t, "17.3", "17.3")
	found, err := search(nil, []string{
		fakeVersion(t, "16.3", "16.3"), want, fakeVersion(t, "15.3", "15.3"), fakeVersion(t, "19.0", "19.0"), "/nonexistent/*",
	})
	require.NoError(t, err)
	require.Equal(t, want, found)
}

func TestFindSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	_, err := search([]string{t.TempDir()}, nil)
	for _, want := range []string{
		"PostgreSQL 15 to 18", "apt-get install postgresql", "--postgres-bin",
		"FENCEPOST_POSTGRES_BIN", "--database-url",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestARelativePathNeedsAWorkingDirectory(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(gone, 0o700))
	t.Chdir(gone)
	require.NoError(t, os.Remove(gone))

	_, err := Find("relative")
	require.Error(t, err)
	_, err = Start(t.Context(), Config{DataDir: "relative"})
	require.Error(t, err)
}
