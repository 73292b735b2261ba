package worker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/worker"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patience is how long a test waits for something that must happen before it fails.
const patience = time.Minute

var owner = job.OwnerOf("somebody")

// bench is a worker on a real database. Its poll interval is an hour, so that nothing happens without a reason.
type bench struct {
	t        *testing.T
	pool     *pgxpool.Pool
	admin    *pgxpool.Pool
	store    *postgres.Store
	config   worker.Config
	worker   *worker.Worker
	observed *recorder
	logs     *logBuffer
}

// newBench makes a bench whose jobs run the load statement, or the built-in load when that is empty.
func newBench(t *testing.T, load string) *bench {
	t.Helper()
	config := postgres.Config{LockTimeout: patience, CallTimeout: patience}
	if load != "" {
		operators, err := postgres.NewLoad(load)
		require.NoError(t, err)
		config.Load = operators
	}
	pool := pgtest.Pool(t)
	admin := pgtest.SuperuserPool(t, pool.Config().ConnString())
	_, err := admin.Exec(t.Context(), raiseSQL)
	require.NoError(t, err)
	b := &bench{
		t: t, pool: pool, admin: admin, store: postgres.NewStore(pool, config),
		config: worker.Config{
			Workers: 2, LeaseDuration: time.Minute, PollInterval: time.Hour,
			MaxAttempts: 3, RetryBackoff: 10 * time.Minute, DrainTimeout: patience, StatementTimeout: patience,
		},
		observed: newRecorder(), logs: &logBuffer{},
	}
	t.Cleanup(b.store.Close)
	return b
}

// raiseSQL makes a function that fails with a SQLSTATE, at its first calls only: sequences don't roll back.
const raiseSQL = `
CREATE SEQUENCE calls;
GRANT USAGE ON calls TO PUBLIC;
CREATE FUNCTION raise(state text, times int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('calls') <= times THEN
		RAISE EXCEPTION USING ERRCODE = state, MESSAGE = 'secret message';
	END IF;
END $$`

// run starts the worker on a queue, until the test ends or calls stop; stopped then yields what Run returned.
func (b *bench) run(queue worker.Queue) (stop func(), stopped <-chan error) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	result := b.runUntil(ctx, queue)
	b.t.Cleanup(func() {
		cancel()
		for range result { // waits for the end, even when the test has read the result
		}
	})
	return cancel, result
}

func (b *bench) runUntil(ctx context.Context, queue worker.Queue) <-chan error {
	b.worker = worker.New(queue, b.config, b.observed, slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	result := make(chan error, 1)
	go func() {
		defer close(result)
		result <- b.worker.Run(ctx)
	}()
	return result
}

// submit stores a job of one record. Nobody listens, so the worker learns of it only by claiming.
func (b *bench) submit() uuid.UUID {
	b.t.Helper()
	payload, err := job.ParsePayload([]byte(`[{"id":"secret record"}]`), job.Limits{MaxPayloadBytes: 1024, MaxBatchRecords: 10})
	require.NoError(b.t, err)
	id := uuid.Must(uuid.NewV7())
	key := job.Hash(job.OwnerOf(id.String()))
	_, inserted, _, err := b.store.Submit(b.t.Context(), job.NewJob{Owner: owner, ID: id, KeyHash: key, Payload: payload})
	require.NoError(b.t, err)
	require.True(b.t, inserted)
	return id
}

func (b *bench) cancel(id uuid.UUID) {
	b.t.Helper()
	result, err := b.store.Cancel(b.t.Context(), owner, id, job.Hash(owner), job.CancellationByOwner)
	require.NoError(b.t, err)
	require.True(b.t, result.Transitioned)
}

func (b *bench) job(id uuid.UUID) job.Job {
	b.t.Helper()
	jobs, err := b.store.Jobs(b.t.Context(), owner, []uuid.UUID{id})
	require.NoError(b.t, err)
	require.Contains(b.t, jobs, id)
	return jobs[id]
}

// effects counts the rows that jobs have loaded.
func (b *bench) effects() int {
	return scan[int](b, `SELECT count(*) FROM processed_data`)
}

// exec runs one statement of the test's own.
func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.admin.Exec(b.t.Context(), sql, args...)
	require.NoError(b.t, err)
}

// scan reads one value.
func scan[T any](b *bench, sql string, args ...any) T {
	b.t.Helper()
	rows, err := b.admin.Query(b.t.Context(), sql, args...)
	require.NoError(b.t, err)
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(b.t, err)
	return value
}

// gatedLoad writes one row once the gate is open.
const gatedLoad = `
WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(1))
INSERT INTO processed_data (principal_scope_hash, job_record_id, record_ordinal, record_id, record_body)
SELECT @owner::bytea, @job_record_id::uuid, 1, 'record', @records::jsonb -> 0 FROM gate`

// gate holds the executions of loads that wait for it.
type gate struct {
	b    *bench
	conn *pgxpool.Conn
}

func (b *bench) closeGate() *gate {
	b.t.Helper()
	conn, err := b.pool.Acquire(b.t.Context())
	require.NoError(b.t, err)
	b.t.Cleanup(conn.Release)
	_, err = conn.Exec(b.t.Context(), `SELECT pg_advisory_lock(1)`)
	require.NoError(b.t, err)
	return &gate{b: b, conn: conn}
}

// await returns when exactly n executions wait at the gate.
func (g *gate) await(n int) {
	g.b.t.Helper()
	pgtest.Eventually(g.b.t, "executions at the gate", func() bool { return scan[int](g.b, waitingSQL) == n })
}

const waitingSQL = `
SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`

func (g *gate) open() {
	g.b.t.Helper()
	_, err := g.conn.Exec(g.b.t.Context(), `SELECT pg_advisory_unlock(1)`)
	require.NoError(g.b.t, err)
}
