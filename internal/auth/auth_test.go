package auth

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"fencepost/internal/job"
)

func TestOwnerIsTheUsersName(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret")+user("bob", "secret"), Options{})
	for _, name := range []string{"ann", "bob"} {
		owner, ok := f.Authenticate(request(name, "secret"))
		require.True(t, ok)
		require.Equal(t, job.OwnerOf(name), owner)
	}
}

func TestWrongCredentialsHaveNoOwner(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret")+user("bob", "other"), Options{})
	for _, c := range []credential{
		{"ann", "Secret"}, {"ann", "other"}, {"Ann", "secret"}, {"nobody", "secret"}, {"ann", ""}, {"", "secret"},
	} {
		owner, ok := f.Authenticate(request(c.name, c.password))
		require.False(t, ok)
		require.Zero(t, owner)
	}
}

func TestPasswordBeyondBcryptsLengthIsRefusedAndNotCut(t *testing.T) {
	t.Parallel()
	password := strings.Repeat("p", 72)
	f := open(t, user("ann", password), Options{})
	require.True(t, f.accepts("ann", password))
	require.False(t, f.accepts("ann", password+"p"))
}

func TestFileWithoutUsersLetsNobodyIn(t *testing.T) {
	t.Parallel()
	f := open(t, "", Options{})
	require.False(t, f.accepts("ann", "secret"))
	require.InDelta(t, 1<<Cost, f.work, 0)
}

func TestOpenRefusesAMissingOrBrokenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users")
	_, err := Open(path, Options{})
	require.ErrorContains(t, err, path)
	_, err = Open(filepath.Dir(path), Options{})
	require.ErrorContains(t, err, filepath.Dir(path))

	f := open(t, "", Options{})
	f.write(t, user("ann", "secret")+"ann\n")
	_, err = Open(f.path, Options{})
	require.ErrorContains(t, err, f.path+":2: ")
	f.write(t, strings.Repeat("#", maxFileBytes+1))
	_, err = Open(f.path, Options{})
	require.ErrorIs(t, err, errFileTooLarge)
}

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock stands still
		options := Options{}.withDefaults()
		require.Equal(t, defaultMaxFailures, options.MaxFailures)
		require.Equal(t, defaultFailureWindow, options.FailureWindow)
		require.NotNil(t, options.Log)
		require.Equal(t, time.Now(), options.Now())
	})
}

func TestFiftyRequestsOfOneCredentialCostOneCheck(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	for range 50 {
		require.True(t, f.accepts("ann", "secret"))
	}
	require.Equal(t, 1, f.compares)
}

func TestCredentialIsRememberedForAMinuteAfterItsLastUse(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	for range 3 {
		require.True(t, f.accepts("ann", "secret"))
		f.pass(rememberFor - 1)
	}
	require.Equal(t, 1, f.compares)
	f.pass(1)
	require.True(t, f.accepts("ann", "secret"))
	require.Equal(t, 2, f.compares)
}

func TestRememberedCredentialOpensNothingElse(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret")+user("bob", "other"), Options{})
	require.True(t, f.accepts("ann", "secret"))
	require.False(t, f.accepts("bob", "secret"))
	require.False(t, f.accepts("ann", "other"))
}

func TestEveryFailureCostsTheSameWork(t *testing.T) {
	t.Parallel()
	f := open(t, userOfCost("low", "secret", 4)+userOfCost("middle", "secret", 6)+userOfCost("high", "secret", 7), Options{})
	for _, name := range []string{"low", "middle", "high", "nobody"} {
		f.work = 0
		require.False(t, f.accepts(name, "wrong"))
		require.InDelta(t, 1<<7, f.work, 0, name)
	}
}

func TestDecoyMakesBcryptDoItsWork(t *testing.T) {
	t.Parallel()
	cost, err := bcrypt.Cost(decoy(5))
	require.NoError(t, err)
	require.Equal(t, 5, cost)
	// Any other error would mean that bcrypt gave up on the hash before the work.
	err = bcrypt.CompareHashAndPassword(decoy(5), []byte("secret"))
	require.ErrorIs(t, err, bcrypt.ErrMismatchedHashAndPassword)
}

func TestUnknownUserIsRefusedEvenIfTheDecoyMatches(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	f.compare = func(_, _ []byte) error { return nil }
	require.True(t, f.accepts("ann", "anything"))
	require.False(t, f.accepts("nobody", "anything"))
}
