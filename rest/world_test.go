package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/ratelimit"
	"fencepost/internal/worker"
	"fencepost/rest"
)

// batch is the payload of most tests.
const batch = `[{"id":"alpha","name":"` + canary + `"},{"id":"beta` + canary + `","amount":2}]`

// world is a server with a database of its own.
type world struct {
	testing.TB
	pool   *pgxpool.Pool
	store  *postgres.Store
	server *httptest.Server
	logs   *logBuffer
	heard  *logBuffer // all answers
	codes  *logBuffer // of the problems that were answered, a line each
}

// setup is what a test may want otherwise.
type setup struct {
	databaseURL string
	connections int
	limits      job.Limits
	lockTimeout time.Duration
	callTimeout time.Duration
	limiter     rest.Limiter
	timeout     time.Duration
	retryAfter  time.Duration
	tracer      pgx.QueryTracer // of the statements, in place of the product's
}

func newWorld(t testing.TB, options ...func(*setup)) *world {
	t.Helper()
	s := setup{
		databaseURL: pgtest.URL(t),
		connections: 8,
		limits:      job.Limits{MaxPayloadBytes: 1000, MaxBatchRecords: 10},
		lockTimeout: 20 * time.Second,
		callTimeout: 20 * time.Second,
		limiter:     ratelimit.New(ratelimit.Rates{}, time.Now),
		timeout:     30 * time.Second,
		retryAfter:  1500 * time.Millisecond,
	}
	for _, option := range options {
		option(&s)
	}
	pool, err := db.Open(t.Context(), s.databaseURL, s.connections)
	require.NoError(t, err)
	if s.tracer != nil {
		pool = traced(t, pool, s.tracer)
	}
	store := postgres.NewStore(pool, postgres.Config{LockTimeout: s.lockTimeout, CallTimeout: s.callTimeout})
	w := &world{TB: t, pool: pool, store: store, logs: &logBuffer{}, heard: &logBuffer{}, codes: &logBuffer{}}
	w.server = httptest.NewServer(rest.New(rest.Config{
		Service:       job.NewService(store, s.limits, job.Unobserved{}).WithReasons(storetest.Reasons(t)),
		Authenticator: authenticator,
		Limiter:       s.limiter,
		Ready:         func(ctx context.Context) error { return pool.Ping(ctx) },
		RetryAfter:    s.retryAfter,
		Timeout:       s.timeout,
		OnProblem:     func(_ context.Context, code job.Code) { _, _ = fmt.Fprintln(w.codes, code) },
		Log:           slog.New(slog.NewJSONHandler(w.logs, nil)),
	}))
	t.Cleanup(func() {
		w.server.Close()
		store.Close()
		pool.Close()
		require.NotContains(t, w.logs.String(), canary)
		require.NotContains(t, w.heard.String(), canary)
	})
	return w
}

// logBuffer keeps what several goroutines write.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// admin is connected to the server's database as somebody who may do everything.
func (w *world) admin() *pgxpool.Pool {
	w.Helper()
	return pgtest.SuperuserPool(w, w.pool.Config().ConnString())
}

// exec runs SQL past the server.
func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.admin().Exec(w.Context(), sql, args...)
	require.NoError(w, err)
}

// hold runs SQL in a transaction that stays undecided until the test ends.
func (w *world) hold(sql string) {
	w.Helper()
	tx, err := w.admin().Begin(w.Context())
	require.NoError(w, err)
	w.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(w.Context(), sql)
	require.NoError(w, err)
}

// pending submits the batch as alice, under a key of its own, and returns the job's path.
func (w *world) pending() string {
	w.Helper()
	return w.submit(batch, quoted(uuid.NewString())).require(202).header.Get("Location")
}

func (w *world) cancelled() string {
	w.Helper()
	path := w.pending()
	w.cancel(path, `"cancel"`).require(200)
	return path
}

// claim leases the only job that waits.
func (w *world) claim() worker.Lease {
	w.Helper()
	claimed, err := w.store.Claim(w.Context(), worker.ClaimRequest{WorkerID: uuid.New(), Limit: 1, Duration: time.Hour, MaxAttempts: 3})
	require.NoError(w, err)
	require.Len(w, claimed.Leases, 1)
	return claimed.Leases[0]
}

func (w *world) running() string {
	w.Helper()
	path := w.pending()
	w.claim()
	return path
}

func (w *world) failed() string {
	w.Helper()
	path := w.pending()
	require.NoError(w, w.store.Fail(w.Context(), w.claim(), worker.Failure{Code: job.FailureTarget}))
	return path
}

func (w *world) succeeded() string {
	w.Helper()
	path := w.pending()
	require.NoError(w, w.store.Execute(w.Context(), w.claim()))
	return path
}

// exhausted makes a cancelled job of the last generation, which would take a hundred replays.
func (w *world) exhausted() string {
	w.Helper()
	root := w.cancelled()
	id := uuid.Must(uuid.NewV7())
	w.exec(`ALTER TABLE etl_job_records DISABLE TRIGGER etl_job_records_replay_lineage_is_true`)
	w.exec(`INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest,
			record_count, job_status, cancellation_key_hash, cancellation_code, job_cancelled_at,
			replay_source_job_record_id, replay_generation_count, replay_root_job_record_id)
		SELECT principal_scope_hash, $1, sha256($2), request_digest, record_count, job_status,
			cancellation_key_hash, cancellation_code, job_cancelled_at, job_record_id, 100, job_record_id
		FROM etl_job_records WHERE job_record_id = $3`, id, id[:], idIn(root))
	return jobsPath + "/" + id.String()
}
