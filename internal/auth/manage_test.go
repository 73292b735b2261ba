package auth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "users")
}

func TestAddedUserGetsInAndRemovedUserDoesNot(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	require.NoError(t, Add(f.path, "zoë", "pässwört"))
	f.pass(checkEvery)
	require.True(t, f.accepts("zoë", "pässwört"))
	require.True(t, f.accepts("ann", "secret"))
	require.Equal(t, Cost, f.file.current().entries["zoë"].cost)

	require.NoError(t, Remove(f.path, "zoë"))
	f.pass(checkEvery)
	require.False(t, f.accepts("zoë", "pässwört"))
	require.True(t, f.accepts("ann", "secret"))
}

func TestAddReplacesThePasswordOfAUserItKnows(t *testing.T) {
	t.Parallel()
	f := open(t, "# the team\r\n"+user("ann", "secret")+strings.TrimSpace(user("annie", "secret")), Options{})
	require.NoError(t, Add(f.path, "ann", "another one"))
	names, err := List(f.path)
	require.NoError(t, err)
	require.Equal(t, []string{"ann", "annie"}, names)
	f.pass(checkEvery)
	require.False(t, f.accepts("ann", "secret"))
	require.True(t, f.accepts("ann", "another one"))
	require.True(t, f.accepts("annie", "secret"))
	text, err := readFile(f.path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, "# the team\n"), "comments stay")
}

func TestNewUsersFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	require.NoError(t, Add(path, "ann", "password"))
	require.Equal(t, os.FileMode(0o600), mode(t, path))
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, Add(path, "bob", "password"))
	require.Equal(t, os.FileMode(0o640), mode(t, path), "an edit keeps the permissions")
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode()
}

func TestAddRefusesNamesThatTheFileOrBasicCannotHold(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	for _, name := range []string{"", "a:b", "a\x00b", "a\nb", "a\u0085b", "\xff", "#ann", strings.Repeat("é", 128)} {
		require.ErrorIs(t, Add(path, name, "password"), ErrInvalidName, "%q", name)
	}
	require.NoFileExists(t, path)
	require.NoError(t, Add(path, strings.Repeat("é", 127)+"e", "password"))
}

func TestAddRefusesPasswordsOutOfBounds(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	for _, password := range []string{"", "seven77", "ééééééé", "pass\x00word", "pass\nword", "password\xff", strings.Repeat("p", 73)} {
		require.ErrorIs(t, Add(path, "ann", password), ErrInvalidPassword, "%q", password)
	}
	require.NoFileExists(t, path)
	for _, password := range []string{"eight888", "a:b:c:d:", strings.Repeat("é", 36)} {
		require.NoError(t, Add(path, "ann", password), "%q", password)
	}
}

func TestRemoveRefusesAUserItDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	require.ErrorIs(t, Remove(f.path, "an"), ErrUserNotFound)
	require.ErrorIs(t, Remove(newPath(t), "ann"), os.ErrNotExist)
}

func TestBrokenFileIsNeverEdited(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	require.NoError(t, os.WriteFile(path, []byte("broken\n"), 0o600))
	require.ErrorContains(t, Add(path, "ann", "password"), path+":1: ")
	require.ErrorContains(t, Remove(path, "ann"), path+":1: ")
	_, err := List(path)
	require.ErrorContains(t, err, path+":1: ")
	text, err := readFile(path)
	require.NoError(t, err)
	require.Equal(t, "broken\n", text)
}

func TestAddNeedsAFolderToWriteTo(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, Add(filepath.Join(newPath(t), "users"), "ann", "password"), os.ErrNotExist)
}

func TestConcurrentAddsLoseNobody(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { require.NoError(t, Add(path, fmt.Sprint("user", i), "password")) })
	}
	all.Wait()
	names, err := List(path)
	require.NoError(t, err)
	require.Len(t, names, 8)
}

func TestNewPasswordsAreStrongDifferentAndAcceptable(t *testing.T) {
	t.Parallel()
	one, other := NewPassword(), NewPassword()
	require.NotEqual(t, one, other)
	require.Regexp(t, `^[A-Z2-7]{26,}$`, one) // five bits each
	path := newPath(t)
	require.NoError(t, Add(path, "operator", one))
	_, entries, err := load(path)
	require.NoError(t, err)
	require.NoError(t, bcrypt.CompareHashAndPassword(entries["operator"].hash, []byte(one)))
}
