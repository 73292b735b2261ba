package pgtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// witness is a test that notes how it failed instead of failing the one around it.
type witness struct {
	testing.TB
	message string
}

func (w *witness) Helper() {}
func (w *witness) Fatalf(format string, args ...any) {
	w.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failureOf runs body as a test of its own and returns what it failed with.
func failureOf(t *testing.T, body func(testing.TB)) string {
	t.Helper()
	w := &witness{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		body(w)
	}()
	<-ended
	return w.message
}

func TestWithoutPostgreSQLATestFailsWithAdvice(t *testing.T) {
	t.Setenv(binDirVariable, "/nonexistent")
	message := failureOf(t, func(tb testing.TB) { Server(tb) })
	require.Contains(t, message, "tests need PostgreSQL: start a Docker engine, set FENCEPOST_TEST_DATABASE_URL")
}

func TestANamedImageIsNotReplacedByProgramsOnTheMachine(t *testing.T) {
	t.Setenv(binDirVariable, "")
	t.Setenv(imageVariable, "fencepost.invalid/none")
	message := failureOf(t, func(tb testing.TB) { Server(tb) })
	require.Contains(t, message, "fencepost.invalid/none")
}

func TestAGivenURLComesFirst(t *testing.T) {
	t.Setenv(binDirVariable, "/nonexistent")
	t.Setenv(databaseURLVariable, "postgres://elsewhere/db")
	e, err := sharedEngine(t.Context())
	require.NoError(t, err)
	require.Equal(t, "postgres://elsewhere/db", e.url())
	require.NoError(t, e.remove(), "it is not ours to stop")
}

func TestAConnectionStringThatIsNoURLIsRefused(t *testing.T) {
	t.Parallel()
	_, err := withDatabase("host=localhost dbname=postgres", "other")
	require.ErrorContains(t, err, "FENCEPOST_TEST_DATABASE_URL must be a URL")
}

func TestTheTemplateIsNamedAfterTheMigrations(t *testing.T) {
	t.Parallel()
	hash := func(files fstest.MapFS) string {
		digest, err := hashFiles(files)
		require.NoError(t, err)
		return digest
	}
	one := hash(fstest.MapFS{"1.sql": {Data: []byte("SELECT 1")}})
	require.Equal(t, one, hash(fstest.MapFS{"1.sql": {Data: []byte("SELECT 1")}}))
	require.NotEqual(t, one, hash(fstest.MapFS{"1.sql": {Data: []byte("SELECT 2")}}))
	require.NotEqual(t, one, hash(fstest.MapFS{"2.sql": {Data: []byte("SELECT 1")}}))
}

func TestADatabaseIsDroppedEvenWhileConnected(t *testing.T) {
	t.Parallel()
	url, drop, err := clone(t.Context(), "template0")
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, drop())
	require.Error(t, conn.Ping(t.Context()))
	_, err = pgx.Connect(t.Context(), url)
	require.ErrorContains(t, err, "does not exist")
}

func TestWaitingForWhatCannotHappenFails(t *testing.T) {
	t.Parallel()
	message := failureOf(t, func(tb testing.TB) {
		poll(tb, "the moon", func(context.Context) (bool, error) { return false, errors.New("it is made of cheese") })
	})
	require.Equal(t, "pgtest: waiting for the moon: it is made of cheese", message)
}
