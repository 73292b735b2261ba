package faultproxy

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is a proxy with one connection through it, and connections past it.
type world struct {
	*testing.T
	proxy   *Proxy
	through *pgx.Conn
	past    *pgxpool.Pool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, past: pgtest.SuperuserPool(t, pgtest.URL(t))}
	_, err := w.past.Exec(t.Context(), "CREATE TABLE steps (number integer)")
	require.NoError(t, err)
	w.proxy = Start(t, w.past.Config().ConnString())
	w.through = w.connect()
	return w
}

func (w *world) connect() *pgx.Conn {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.proxy.URL())
	require.NoError(w, err)
	w.Cleanup(func() { _ = conn.Close(w.Context()) })
	return conn
}

// numbers counts the rows that are committed.
func (w *world) numbers() (n int) {
	w.Helper()
	require.NoError(w, w.past.QueryRow(w.Context(), "SELECT count(*) FROM steps").Scan(&n))
	return n
}

// insert adds a row, with a parameter, so that pgx prepares the statement.
const insert = "INSERT INTO steps VALUES ($1)"

// background runs a call that is to be held.
func background(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

// alone inserts in a transaction of the statement's own, and inBlock in a transaction block.
func (w *world) alone() error {
	_, err := w.through.Exec(w.Context(), insert, 1)
	return err
}

func (w *world) inBlock() error {
	return pgx.BeginFunc(w.Context(), w.through, func(tx pgx.Tx) error {
		_, err := tx.Exec(w.Context(), insert, 1)
		return err
	})
}

func TestConnectionIsHeldAtItsStepAndCut(t *testing.T) {
	t.Parallel()
	for _, step := range []Step{BeforeStatement, BeforeCommit, AfterCommit} {
		for name, call := range map[string]func(*world) error{"alone": (*world).alone, "in a block": (*world).inBlock} {
			t.Run(fmt.Sprint(step, " ", name), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				hold := w.proxy.Hold(step, insert)
				done := background(func() error { return call(w) })
				hold.Wait(t)
				require.Equal(t, step == AfterCommit, w.numbers() == 1)
				require.Empty(t, done)
				hold.Cut(t)
				require.Error(t, <-done)
				require.Equal(t, step == AfterCommit, w.numbers() == 1)
			})
		}
	}
}

func TestConnectionThatPassesSeesNothingOfItsHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, step := range []Step{BeforeStatement, BeforeCommit, AfterCommit} {
		hold := w.proxy.Hold(step, insert)
		done := background(w.inBlock)
		hold.Pass(t)
		require.NoError(t, <-done)
		require.NoError(t, w.inBlock(), "the next one is not held")
		require.Equal(t, 2*i+2, w.numbers())
	}
}

func TestHoldsOfOneStatementTakeOneConnectionEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.proxy.Hold(AfterCommit, insert), w.proxy.Hold(BeforeStatement, insert)
	done := background(w.alone)
	first.Wait(t)
	other := w.connect()
	alsoDone := background(func() error { _, err := other.Exec(t.Context(), insert, 2); return err })
	second.Wait(t)
	require.Equal(t, 1, w.numbers())
	second.Pass(t)
	require.NoError(t, <-alsoDone)
	first.Cut(t)
	require.Error(t, <-done)
	require.Equal(t, 2, w.numbers())
}

func TestTransactionThatRollsBackDoesNotCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := w.proxy.Hold(BeforeCommit, insert)
	tx, err := w.through.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), insert, 1)
	require.NoError(t, err, "only the end of the transaction is held")
	done := background(func() error { return tx.Rollback(t.Context()) })
	hold.Pass(t)
	require.NoError(t, <-done)
	require.Zero(t, w.numbers())
}

func TestDownCutsEverythingUntilUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := w.proxy.Hold(BeforeStatement, insert)
	done := background(w.alone)
	hold.Wait(t)
	require.Equal(t, 1, w.proxy.Open())

	w.proxy.Down()
	require.Error(t, <-done)
	_, err := pgx.Connect(t.Context(), w.proxy.URL())
	require.Error(t, err)
	require.Eventually(t, func() bool { return w.proxy.Open() == 0 }, patience, time.Millisecond)

	w.proxy.Up()
	w.through = w.connect()
	require.NoError(t, w.alone())
	require.Equal(t, 1, w.numbers())
}

func TestServerThatDoesNotAnswerIsADeadConnection(t *testing.T) {
	t.Parallel()
	p := Start(t, "postgres://somebody@127.0.0.1:1/db?host=127.0.0.1&port=1")
	require.NotContains(t, p.URL(), ":1/")
	_, err := pgx.Connect(t.Context(), p.URL())
	require.Error(t, err)
	require.Zero(t, p.Open())
	_, err = through("host=localhost", "127.0.0.1:1")
	require.Error(t, err, "not a URL")
}

func TestDelayLastsUntilTheConnectionEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proxy.Delay(time.Millisecond)
	before := time.Now()
	require.NoError(t, w.alone())
	require.GreaterOrEqual(t, time.Since(before), 2*time.Millisecond, "it is prepared and executed")
	w.proxy.Delay(time.Hour)
	here, there := net.Pipe()
	l := newLink(w.proxy, here, there)
	l.close()
	require.False(t, l.forward(trip{bytes: []byte("anything")}))
}

func TestNotificationsComeBetweenAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.through.Exec(t.Context(), "LISTEN news")
	require.NoError(t, err)
	_, err = w.past.Exec(t.Context(), "SELECT pg_notify('news', 'hello')")
	require.NoError(t, err)
	notification, err := w.through.WaitForNotification(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hello", notification.Payload)
	require.NoError(t, w.alone(), "and answers go on")
}

// witness notes how a test failed, instead of failing the one around it.
type witness struct {
	testing.TB
	message string
}

func (w *witness) Helper() {}
func (w *witness) Fatalf(format string, args ...any) {
	w.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestStepThatNobodyComesToFailsTheTest(t *testing.T) {
	t.Parallel()
	hold := newWorld(t).proxy.Hold(BeforeCommit, insert)
	hold.patience = time.Millisecond
	w := &witness{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hold.Wait(w)
	}()
	<-ended
	require.Equal(t, `faultproxy: no connection came to the step before the commit of "INSERT INTO steps VALUES ($1)"`, w.message)
}

func TestAMessageThatIsNoStatementTravelsAlone(t *testing.T) {
	t.Parallel()
	var alone trip
	terminate := []byte{'X', 0, 0, 0, 4}
	newLink(nil, nil, nil).add(&alone, terminate)
	require.True(t, alone.complete)
	require.False(t, alone.answered)
	require.Equal(t, terminate, alone.bytes)
}
