package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// WaitForLock returns when the backend with process id pid (see [pgconn.PgConn.PID]) waits for a lock that another
// holds. It makes the order of steps in a race certain. The pool must reach the same server.
func WaitForLock(t testing.TB, pool *pgxpool.Pool, pid uint32) {
	t.Helper()
	waitUntil(t, pool, "the backend to wait for a lock",
		"SELECT cardinality(pg_blocking_pids($1)) > 0", pid)
}

// WaitForBlockedBy returns when some backend waits for a lock that the backend with process id holder holds: for code
// under test that takes its connections from a pool, so that its own process id is not known.
func WaitForBlockedBy(t testing.TB, pool *pgxpool.Pool, holder uint32) {
	t.Helper()
	waitUntil(t, pool, "a backend to be blocked",
		"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))", holder)
}

// Eventually asks again and again until the answer is yes, on the test's own goroutine, so that the question may fail the test.
// A minute of other answers fails it, too.
func Eventually(t testing.TB, what string, ask func() bool) {
	t.Helper()
	poll(t, what, func(context.Context) (bool, error) { return ask(), nil })
}

func waitUntil(t testing.TB, pool *pgxpool.Pool, what, question string, pid uint32) {
	t.Helper()
	poll(t, what, func(ctx context.Context) (bool, error) {
		var yes bool
		err := pool.QueryRow(ctx, question, pid).Scan(&yes)
		return yes, err
	})
}

// poll asks until the answer is yes. An error, and running out of patience, fail the test.
func poll(t testing.TB, what string, ask func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		yes, err := ask(ctx)
		if err != nil {
			t.Fatalf("pgtest: waiting for %s: %v", what, err)
		}
		if yes {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("pgtest: gave up waiting for %s", what)
		}
	}
}
