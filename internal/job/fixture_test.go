package job_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/worker"
)

// batch is a valid payload, and otherBatch one of other bytes and the same meaning.
var batch, otherBatch = []byte(`[{"id":"a"}]`), []byte(`[{"id": "a"}]`)

// A fixture is a service on a database of its own, whose observer notes what it is told.
type fixture struct {
	*job.Service
	t     *testing.T
	pool  *pgxpool.Pool
	store *postgres.Store
	owner job.Owner

	ended    []job.Status
	replayed []job.Operation
	created  []int
}

// patient waits longer than anything takes, on a busy machine too.
var patient = postgres.Config{LockTimeout: time.Minute, CallTimeout: time.Minute}

func newFixture(t *testing.T) *fixture {
	return newFixtureOn(t, pgtest.Pool(t), patient)
}

func newFixtureOn(t *testing.T, pool *pgxpool.Pool, config postgres.Config) *fixture {
	store := postgres.NewStore(pool, config)
	t.Cleanup(store.Close)
	f := &fixture{t: t, pool: pool, store: store, owner: job.OwnerOf("ann")}
	f.Service = job.NewService(store, job.Limits{MaxPayloadBytes: 1024, MaxBatchRecords: 10}, f)
	return f
}

// newImpatientFixture is one whose writes hardly wait for a row that another transaction holds.
func newImpatientFixture(t *testing.T) *fixture {
	return newFixtureOn(t, pgtest.Pool(t), postgres.Config{LockTimeout: 50 * time.Millisecond, CallTimeout: time.Minute})
}

// JobEnded implements job.Observer.
func (f *fixture) JobEnded(s job.Status) { f.ended = append(f.ended, s) }

// IdempotentReplay implements job.Observer.
func (f *fixture) IdempotentReplay(op job.Operation) { f.replayed = append(f.replayed, op) }

// JobCreated implements job.Observer.
func (f *fixture) JobCreated(generation int) { f.created = append(f.created, generation) }

func key(text string) job.Key {
	k, err := job.ParseKey(text)
	if err != nil {
		panic(err)
	}
	return k
}

// submit makes a job under a key of its own.
func (f *fixture) submit() job.Job {
	accepted, err := f.Submit(f.t.Context(), f.owner, key(uuid.NewString()), batch)
	require.NoError(f.t, err)
	return accepted.Job
}

func (f *fixture) cancel(j job.Job) job.Job {
	accepted, err := f.Cancel(f.t.Context(), f.owner, j.ID.String(), key("cancel"), "")
	require.NoError(f.t, err)
	return accepted.Job
}

func (f *fixture) replay(source job.Job) job.Job {
	accepted, err := f.Replay(f.t.Context(), f.owner, source.ID.String(), key(uuid.NewString()), batch)
	require.NoError(f.t, err)
	return accepted.Job
}

// claim makes the only due job RUNNING.
func (f *fixture) claim() worker.Lease {
	claimed, err := f.store.Claim(f.t.Context(),
		worker.ClaimRequest{WorkerID: uuid.New(), Limit: 2, Duration: time.Hour, MaxAttempts: 3})
	require.NoError(f.t, err)
	require.Len(f.t, claimed.Leases, 1)
	return claimed.Leases[0]
}

// in makes a new job and moves it to a status.
func (f *fixture) in(s job.Status) job.Job {
	j := f.submit()
	switch s {
	case job.StatusPending:
	case job.StatusRunning:
		f.claim()
	case job.StatusSucceeded:
		require.NoError(f.t, f.store.Execute(f.t.Context(), f.claim()))
	case job.StatusFailed:
		require.NoError(f.t, f.store.Fail(f.t.Context(), f.claim(), worker.Failure{Code: job.FailureTarget}))
	case job.StatusCancelled:
		f.cancel(j)
	}
	return f.get(j)
}

func (f *fixture) get(j job.Job) job.Job {
	current, err := f.Get(f.t.Context(), f.owner, j.ID.String())
	require.NoError(f.t, err)
	return current
}

// now is the time on the database's clock, which jobs have theirs from.
func (f *fixture) now() (now time.Time) {
	require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `SELECT clock_timestamp()`).Scan(&now))
	return now
}

// hold runs a statement on a job in a transaction that stays open until the test ends.
func (f *fixture) hold(sql string, j job.Job) {
	tx, err := pgtest.SuperuserPool(f.t, f.pool.Config().ConnString()).BeginTx(f.t.Context(), pgx.TxOptions{})
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(f.t.Context(), sql, j.ID)
	require.NoError(f.t, err)
}

const (
	lockJob   = `SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE`
	deleteJob = `DELETE FROM etl_job_records WHERE job_record_id = $1`
)

// requireRefused requires a problem about no particular job.
func requireRefused(t *testing.T, code job.Code, err error) {
	t.Helper()
	problem, ok := errors.AsType[*job.Problem](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, code, problem.Code)
	assert.Nil(t, problem.Job)
}

// requireRefusedWith requires a problem that carries a job of the owner.
func requireRefusedWith(t *testing.T, code job.Code, j job.Job, err error) {
	t.Helper()
	problem, ok := errors.AsType[*job.Problem](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, code, problem.Code)
	require.NotNil(t, problem.Job)
	assert.Equal(t, j, *problem.Job)
}

// strangers are ids that are no job of the fixture's owner: malformed, absent, and another owner's.
func (f *fixture) strangers() []string {
	foreign, err := f.Submit(f.t.Context(), job.OwnerOf("bob"), key("bob's"), batch)
	require.NoError(f.t, err)
	return []string{"", "x", uuid.Nil.String(), uuid.NewString(), foreign.Job.ID.String()}
}
