package pgtest_test

import (
	"bytes"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const countTables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"

func count(t *testing.T, pool *pgxpool.Pool, sql string) int {
	t.Helper()
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func TestEachTestHasAMigratedDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	var pools sync.Map
	for _, name := range []string{"a", "b", "c", "d"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.SuperuserPool(t, pgtest.URL(t))
			_, err := pool.Exec(t.Context(), "CREATE TABLE only_here ()")
			require.NoError(t, err, "no other test made it")
			require.Positive(t, count(t, pool, "SELECT count(*) FROM goose_db_version WHERE version_id > 0"))
			_, taken := pools.LoadOrStore(count(t, pool, "SELECT oid::int FROM pg_database WHERE datname = current_database()"), name)
			require.False(t, taken)
		})
	}
}

func TestAnEmptyDatabaseHasNoTables(t *testing.T) {
	t.Parallel()
	require.Zero(t, count(t, pgtest.PoolOn(t, pgtest.EmptyURL(t)), countTables))
}

func TestAServerOfItsOwnKeepsCommitsThroughACrash(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	pool := pgtest.SuperuserPool(t, server.URL())
	require.Positive(t, count(t, pool, countTables))
	_, err := pool.Exec(t.Context(), "CREATE TABLE kept AS SELECT 7 AS n")
	require.NoError(t, err)

	server.Crash(t)
	_, err = pool.Exec(t.Context(), "SELECT 1")
	require.Error(t, err)
	server.Start(t)

	require.Equal(t, 7, count(t, pgtest.SuperuserPool(t, server.URL()), "SELECT n FROM kept"))
}

func TestAReplicaStreamsFromItsServerAndTakesNoWrites(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	replica := pgtest.SuperuserPool(t, server.Replica(t).URL())
	_, err := pgtest.SuperuserPool(t, server.URL()).Exec(t.Context(), "CREATE TABLE streamed AS SELECT 7 AS n")
	require.NoError(t, err)
	pgtest.Eventually(t, "the table to be on the standby", func() bool {
		return count(t, replica, "SELECT count(*) FROM pg_tables WHERE tablename = 'streamed'") == 1
	})

	_, err = replica.Exec(t.Context(), "DROP TABLE streamed")
	require.ErrorContains(t, err, "read-only")
}

func TestWaitingEndsWhenTheOtherIsBlocked(t *testing.T) {
	t.Parallel()
	pool := pgtest.SuperuserPool(t, pgtest.URL(t))
	_, err := pool.Exec(t.Context(), "CREATE TABLE locked AS SELECT 1 AS n")
	require.NoError(t, err)
	holder, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "UPDATE locked SET n = 2")
	require.NoError(t, err)

	waiter, err := pool.Begin(t.Context())
	require.NoError(t, err)
	updated := make(chan error)
	go func() {
		_, err := waiter.Exec(t.Context(), "UPDATE locked SET n = n + 1")
		updated <- err
	}()
	pgtest.WaitForLock(t, pool, waiter.Conn().PgConn().PID())
	pgtest.WaitForBlockedBy(t, pool, holder.Conn().PgConn().PID())

	require.NoError(t, holder.Commit(t.Context()))
	require.NoError(t, <-updated)
	require.NoError(t, waiter.Commit(t.Context()))
	require.Equal(t, 3, count(t, pool, "SELECT n FROM locked"))
}

func TestProcessesShareAServerGivenByURL(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	self, err := os.Executable()
	require.NoError(t, err)
	processes := make([]*exec.Cmd, 3)
	output := make([]bytes.Buffer, len(processes))
	for i := range processes {
		processes[i] = exec.Command(self, "-test.run=^TestEachTestHasAMigratedDatabaseOfItsOwn$")
		processes[i].Env = append(os.Environ(), "FENCEPOST_TEST_DATABASE_URL="+pgtest.Superuser(t, server.URL()), "GOCOVERDIR="+t.TempDir())
		processes[i].Stdout = &output[i]
		require.NoError(t, processes[i].Start())
	}
	for i, process := range processes {
		require.NoError(t, process.Wait(), "%s", &output[i])
	}
	pool := pgtest.PoolOn(t, server.URL())
	require.Equal(t, 1, count(t, pool, "SELECT count(*) FROM pg_database WHERE datname LIKE 'fencepost_template%'"))
	require.Zero(t, count(t, pool, "SELECT count(*) FROM pg_database WHERE datname LIKE 'fencepost_test%'"))
}

func BenchmarkURL(b *testing.B) {
	pgtest.URL(b) // the first starts the server
	for b.Loop() {
		pgtest.URL(b)
	}
}
