package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/worker"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// batch is the payload of most tests.
var batch = []byte(`[{"id":"alpha","amount":1},{"id":"beta","amount":2}]`)

// patience is how long a test waits for something that normally happens at once.
const patience = time.Minute

// maxAttempts is the attempt limit of the tests' claims.
const maxAttempts = 3

// counter counts what the service observed.
type counter struct {
	mu       sync.Mutex
	ended    map[job.Status]int
	created  map[int]int
	replayed map[job.Operation]int
}

func (c *counter) JobEnded(s job.Status)     { c.mu.Lock(); c.ended[s]++; c.mu.Unlock() }
func (c *counter) JobCreated(generation int) { c.mu.Lock(); c.created[generation]++; c.mu.Unlock() }

func (c *counter) IdempotentReplay(op job.Operation) { c.mu.Lock(); c.replayed[op]++; c.mu.Unlock() }

// world is a database of its own with a service on it, seen by one owner. The service is connected as the server's role. The
// pool is for what tests do by hand: it is direct where the store's leads through a pooler.
type world struct {
	*testing.T
	url  string
	pool *pgxpool.Pool
	// admin is connected as a superuser, for whatever the server may not do.
	admin   *pgxpool.Pool
	store   *Store
	service *job.Service
	counter *counter
	owner   job.Owner
}

type option func(*Config)

// withLoad makes jobs run a statement instead of the built-in load.
func withLoad(t *testing.T, sql string) option {
	load, err := NewLoad(sql)
	require.NoError(t, err)
	return func(c *Config) { c.Load = load }
}

// executedAlone makes executions of the built-in load share no statement, as those of an operator's.
func executedAlone(c *Config) { c.Load.sql = BuiltinLoad.sql }

// forEachExecution runs a test with executions that share statements, and with such that do not.
func forEachExecution(t *testing.T, test func(w *world)) {
	t.Helper()
	for name, option := range map[string]option{"gathered": func(*Config) {}, "alone": executedAlone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newWorld(t, option))
		})
	}
}

func withLockTimeout(d time.Duration) option { return func(c *Config) { c.LockTimeout = d } }

func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	return newWorldOn(t, pgtest.URL(t), options...)
}

// open makes a pool on a database, closed when the test ends.
func open(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := Open(t.Context(), url, 20)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// newWorldOn is newWorld on a migrated database that is there.
func newWorldOn(t *testing.T, url string, options ...option) *world {
	t.Helper()
	pool := open(t, pgtest.Direct(url))
	listen, err := ParseListen(pgtest.Direct(url))
	require.NoError(t, err)
	config := Config{LockTimeout: 20 * time.Second, CallTimeout: 30 * time.Second, Listen: listen}
	for _, o := range options {
		o(&config)
	}
	store := NewStore(open(t, url), config)
	t.Cleanup(store.Close)
	c := &counter{ended: map[job.Status]int{}, created: map[int]int{}, replayed: map[job.Operation]int{}}
	limits := job.Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: 1000}
	return &world{t, url, pool, pgtest.SuperuserPool(t, url), store, job.NewService(store, limits, c), c, job.OwnerOf("owner a")}
}

func key(t testing.TB, text string) job.Key {
	k, err := job.ParseKey(text)
	require.NoError(t, err)
	return k
}

// submit makes a PENDING job of the batch under a fresh key.
func (w *world) submit() job.Job {
	w.Helper()
	accepted, err := w.service.Submit(w.Context(), w.owner, key(w, uuid.NewString()), batch)
	require.NoError(w, err)
	return accepted.Job
}

// submitLong makes a PENDING job whose payload is too long to come with its lease.
func (w *world) submitLong() job.Job {
	w.Helper()
	long := fmt.Appendf(nil, `[{"id":"long","text":%q}]`, strings.Repeat("x", maxClaimedPayload))
	accepted, err := w.service.Submit(w.Context(), w.owner, key(w, uuid.NewString()), long)
	require.NoError(w, err)
	return accepted.Job
}

// claim leases exactly one job.
func (w *world) claim() worker.Lease {
	w.Helper()
	claimed := w.claimAll(1)
	require.Len(w, claimed.Leases, 1)
	return claimed.Leases[0]
}

func (w *world) claimAll(limit int) worker.Claimed {
	w.Helper()
	claimed, err := w.store.Claim(w.Context(), worker.ClaimRequest{
		WorkerID: uuid.New(), Limit: limit, Duration: time.Minute, MaxAttempts: maxAttempts,
	})
	require.NoError(w, err)
	return claimed
}

func (w *world) cancel(j job.Job, keyText string) (job.Accepted, error) {
	return w.service.Cancel(w.Context(), w.owner, j.ID.String(), key(w, keyText))
}

func (w *world) replay(source job.Job, keyText string) (job.Accepted, error) {
	return w.service.Replay(w.Context(), w.owner, source.ID.String(), key(w, keyText), batch)
}

// cancelled makes a CANCELLED job.
func (w *world) cancelled() job.Job {
	w.Helper()
	accepted, err := w.cancel(w.submit(), "cancel")
	require.NoError(w, err)
	return accepted.Job
}

// failed makes a FAILED job.
func (w *world) failed() job.Job {
	w.Helper()
	j := w.submit()
	require.NoError(w, w.store.Fail(w.Context(), w.claim(), job.FailureTarget))
	return w.get(j.ID)
}

// succeeded makes a SUCCEEDED job.
func (w *world) succeeded() job.Job {
	w.Helper()
	j := w.submit()
	require.NoError(w, w.store.Execute(w.Context(), w.claim()))
	return w.get(j.ID)
}

// running makes a RUNNING job with its lease.
func (w *world) running() (job.Job, worker.Lease) {
	w.Helper()
	j := w.submit()
	l := w.claim()
	return w.get(j.ID), l
}

func (w *world) get(id uuid.UUID) job.Job {
	w.Helper()
	j, err := w.service.Get(w.Context(), w.owner, id.String())
	require.NoError(w, err)
	return j
}

// exec runs plain SQL, with all rights.
func (w *world) exec(sql string, args ...any) error {
	_, err := w.admin.Exec(w.Context(), sql, args...)
	return err
}

func (w *world) mustExec(sql string, args ...any) {
	w.Helper()
	require.NoError(w, w.exec(sql, args...))
}

// count counts the rows of a table or a query's FROM part.
func (w *world) count(from string, args ...any) int {
	w.Helper()
	var n int
	require.NoError(w, w.admin.QueryRow(w.Context(), "SELECT count(*) FROM "+from, args...).Scan(&n))
	return n
}

// row is a job's whole row as text, to see whether anything at all changed.
func (w *world) row(id uuid.UUID) string {
	w.Helper()
	var text string
	require.NoError(w, w.admin.QueryRow(w.Context(),
		"SELECT etl_job_records::text FROM etl_job_records WHERE job_record_id = $1", id).Scan(&text))
	return text
}

// requireNoEffects checks that nothing of a job remains in target and ledger.
func (w *world) requireNoEffects(id uuid.UUID) {
	w.Helper()
	require.Zero(w, w.count("processed_data WHERE job_record_id = $1", id), "effects")
	require.Zero(w, w.count("etl_idempotency_records WHERE job_record_id = $1", id), "ledger rows")
}

// requireEffectsOnce checks that the batch was loaded exactly once.
func (w *world) requireEffectsOnce(id uuid.UUID) {
	w.Helper()
	require.Equal(w, 2, w.count("processed_data WHERE job_record_id = $1", id), "effects")
	require.Equal(w, 1, w.count("etl_idempotency_records WHERE job_record_id = $1", id), "ledger rows")
}

// expire moves a running job's lease into the past.
func (w *world) expire(id uuid.UUID) {
	w.Helper()
	w.mustExec("UPDATE etl_job_records SET lease_expires_at = clock_timestamp() - interval '1 second' WHERE job_record_id = $1", id)
}

// requireProblem checks that an error is the problem with a code.
func requireProblem(t testing.TB, code job.Code, err error) *job.Problem {
	t.Helper()
	var problem *job.Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, code, problem.Code)
	return problem
}

// begin opens a transaction on a connection of its own: one side of a race, taken step by step.
func (w *world) begin() pgx.Tx {
	w.Helper()
	return w.beginOn(w.pool)
}

// beginAsAdmin opens one that may do everything.
func (w *world) beginAsAdmin() pgx.Tx {
	w.Helper()
	return w.beginOn(w.admin)
}

func (w *world) beginOn(pool *pgxpool.Pool) pgx.Tx {
	w.Helper()
	tx, err := pool.Begin(w.Context())
	require.NoError(w, err)
	w.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// async runs one side of a race in the background.
func async[T any](call func() (T, error)) <-chan result[T] {
	done := make(chan result[T], 1)
	go func() {
		value, err := call()
		done <- result[T]{value, err}
	}()
	return done
}

type result[T any] struct {
	value T
	err   error
}

// waitForLock waits until one connection to this database is blocked by a lock.
func (w *world) waitForLock() {
	w.Helper()
	w.waitForLocks(1)
}

// waitForLocks waits until exactly so many connections to this database are blocked by locks.
func (w *world) waitForLocks(connections int) {
	w.Helper()
	require.Eventually(w, func() bool {
		return w.count("pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == connections
	}, patience, time.Millisecond, "%d blocked connections", connections)
}

// gate is an advisory lock that a load statement waits at until the test opens it.
const gate = 4711

// gatedLoad is the built-in load, held at the gate after its effects were written.
func gatedLoad(t *testing.T) option {
	return withLoad(t, fmt.Sprintf(`WITH loaded AS (%s RETURNING 1) SELECT pg_advisory_xact_lock_shared(%d) FROM (SELECT count(*) FROM loaded) AS written`,
		BuiltinLoad.sql, gate))
}

// closeGate holds the gate until the returned function opens it.
func (w *world) closeGate() (open func()) {
	w.Helper()
	tx := w.begin()
	_, err := tx.Exec(w.Context(), "SELECT pg_advisory_xact_lock($1)", gate)
	require.NoError(w, err)
	return func() { require.NoError(w, tx.Commit(w.Context())) }
}

// errSpied is the answer of a keySpy.
var errSpied = errors.New("spied")

// keySpy is no database: it only learns which row or key hash the core would send, so that a test can send it by hand, one
// statement at a time.
type keySpy struct {
	job.Store
	hash   job.Hash
	newJob job.NewJob
}

// newJob is the row that the core would send for a submission.
func (w *world) newJob(keyText string, payload []byte) job.NewJob {
	w.Helper()
	spy := &keySpy{}
	_, err := job.NewService(spy, w.service.Limits(), w.counter).Submit(w.Context(), w.owner, key(w, keyText), payload)
	require.ErrorIs(w, err, errSpied)
	return spy.newJob
}

func (s *keySpy) Cancel(_ context.Context, _ job.Owner, _ uuid.UUID, hash job.Hash) (job.CancelResult, error) {
	s.hash = hash
	return job.CancelResult{}, errSpied
}

func (s *keySpy) Submit(_ context.Context, n job.NewJob) (job.Job, bool, bool, error) {
	s.newJob = n
	return job.Job{}, false, false, errSpied
}

func (s *keySpy) Replay(_ context.Context, _ uuid.UUID, n job.NewJob) (job.ReplayResult, error) {
	s.newJob = n
	return job.ReplayResult{}, errSpied
}

// requireSQLState checks the SQLSTATE that the server answered with.
func requireSQLState(t testing.TB, code string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, code, pgErr.Code, pgErr.Message)
}
