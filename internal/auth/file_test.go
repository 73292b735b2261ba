package auth

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
)

func TestChangedFileIsInForceASecondLater(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	require.True(t, f.accepts("ann", "secret"))
	f.write(t, user("ann", "changed")+user("bob", "secret"))
	f.pass(checkEvery - 1)
	require.True(t, f.accepts("ann", "secret"), "the old file is in force for a moment")
	f.pass(1)
	require.False(t, f.accepts("ann", "secret"), "what was remembered went with the old file")
	require.True(t, f.accepts("ann", "changed"))
	require.True(t, f.accepts("bob", "secret"))
	require.Equal(t, 1, strings.Count(f.log.String(), "users_file_reloaded"))
}

func TestRenamedFileOfTheSameSizeAndTimeIsNoticed(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	before, err := os.Stat(f.path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.path+".new", []byte(user("bob", "secret")), 0o600))
	require.NoError(t, os.Chtimes(f.path+".new", before.ModTime(), before.ModTime()))
	require.NoError(t, os.Rename(f.path+".new", f.path))
	f.pass(checkEvery)
	require.False(t, f.accepts("ann", "secret"))
	require.True(t, f.accepts("bob", "secret"))
}

func TestUnchangedFileKeepsWhatIsRemembered(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	for range 10 {
		require.True(t, f.accepts("ann", "secret"))
		f.pass(checkEvery)
	}
	require.Equal(t, 1, f.compares)
	require.Empty(t, f.log.String())
}

func TestBrokenFileLeavesTheGoodOneInForce(t *testing.T) {
	t.Parallel()
	for code, spoil := range map[string]func(t *testing.T, f *fixture){
		"users_file_invalid":    func(t *testing.T, f *fixture) { f.write(t, "ann:hunter2\n") },
		"users_file_unreadable": func(t *testing.T, f *fixture) { require.NoError(t, os.Remove(f.path)) },
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			f := open(t, user("ann", "secret"), Options{})
			spoil(t, f)
			for range 3 {
				f.pass(checkEvery)
				require.True(t, f.accepts("ann", "secret"))
			}
			require.Equal(t, 1, strings.Count(f.log.String(), code), "once a change, not once a look")
			for _, private := range []string{"ann", "hunter2", f.path} {
				require.NotContains(t, f.log.String(), private)
			}
			f.write(t, user("bob", "secret"))
			f.pass(checkEvery)
			require.True(t, f.accepts("bob", "secret"))
			require.False(t, f.accepts("ann", "secret"))
		})
	}
}

func TestRemovingTheLastUserLocksEverybodyOut(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	require.True(t, f.accepts("ann", "secret"))
	require.NoError(t, Remove(f.path, "ann"))
	f.pass(checkEvery)
	require.False(t, f.accepts("ann", "secret"))
}

func TestCheckAgainstTheOldFileIsNotRememberedForTheNewOne(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	compare := f.compare
	f.compare = func(hash, password []byte) error { // the file changes while bcrypt is at work
		f.compare = compare
		f.write(t, user("ann", "changed"))
		f.pass(checkEvery)
		require.False(t, f.accepts("ann", "secret"))
		return compare(hash, password)
	}
	f.slots = semaphore.NewWeighted(2) // room for the check inside the check
	require.True(t, f.accepts("ann", "secret"), "it began under the old file")
	require.False(t, f.accepts("ann", "secret"))
}
