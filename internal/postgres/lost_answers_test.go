package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"fencepost/internal/faultproxy"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/worker"
)

// Connections that are cut at exact steps, before the server sees a commit and before its client does.

var steps = []faultproxy.Step{faultproxy.BeforeStatement, faultproxy.BeforeCommit, faultproxy.AfterCommit}

// faultWorld is a world, and a second service on its database that connects through a proxy.
type faultWorld struct {
	*world
	proxy *faultproxy.Proxy
	far   *world
}

func newFaultWorld(t *testing.T) *faultWorld {
	t.Helper()
	w := newWorld(t)
	proxy := faultproxy.Start(t, w.url)
	return &faultWorld{w, proxy, newWorldOn(t, proxy.URL())}
}

// requireBooksBalance says which rows are wrong.
func (w *world) requireBooksBalance() {
	w.Helper()
	require.Empty(w, pgtest.WrongRows(w, w.url), "the rows that are wrong")
}

// write is a call with an idempotency key, and the statement that it commits.
type write struct {
	sql     string
	prepare func(*world) job.Job
	call    func(*world, job.Job) (job.Accepted, error)
	// made counts what the call made.
	made string
	// anonymous says that the row does not tell which call made it, so that a second try finds its own work done.
	anonymous bool
}

var keyedWrites = map[string]write{
	"gathered submit": {
		sql:     gatheredSubmitSQL,
		prepare: func(*world) job.Job { return job.Job{} },
		call: func(w *world, _ job.Job) (job.Accepted, error) {
			return w.service.Submit(w.Context(), w.owner, key(w, "k"), batch)
		},
		made: "etl_job_records WHERE job_status = 'PENDING'",
	},
	"submit alone": {
		sql:     submitSQL,
		prepare: func(*world) job.Job { return job.Job{} },
		call: func(w *world, _ job.Job) (job.Accepted, error) {
			return w.service.Submit(recorded(w.Context()), w.owner, key(w, "k"), batch)
		},
		made: "etl_job_records WHERE job_status = 'PENDING'",
	},
	"gathered cancel": {
		sql:       gatheredCancelSQL,
		prepare:   (*world).submit,
		call:      func(w *world, j job.Job) (job.Accepted, error) { return w.cancel(j, "k") },
		made:      "etl_job_records WHERE job_status = 'CANCELLED'",
		anonymous: true,
	},
	"cancel alone": {
		sql:     cancelSQL,
		prepare: (*world).submit,
		call: func(w *world, j job.Job) (job.Accepted, error) {
			return w.service.Cancel(recorded(w.Context()), w.owner, j.ID.String(), key(w, "k"))
		},
		made:      "etl_job_records WHERE job_status = 'CANCELLED'",
		anonymous: true,
	},
	"replay": {
		sql:     replaySQL,
		prepare: (*world).failed,
		call:    func(w *world, j job.Job) (job.Accepted, error) { return w.replay(j, "k") },
		made:    "etl_job_records WHERE replay_source_job_record_id IS NOT NULL",
	},
}

// recorded makes calls part of a trace, so that each has a statement of its own.
func recorded(ctx context.Context) context.Context {
	ctx, _ = sdktrace.NewTracerProvider().Tracer("test").Start(ctx, "root")
	return ctx
}

// forEachStep runs a test for each step, in a world of its own.
func forEachStep(t *testing.T, test func(w *faultWorld, step faultproxy.Step)) {
	t.Helper()
	for _, step := range steps {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			test(newFaultWorld(t), step)
		})
	}
}

// forEachWrite runs a test for each write and each step.
func forEachWrite(t *testing.T, test func(w *faultWorld, c write, source job.Job, step faultproxy.Step)) {
	t.Helper()
	for name, c := range keyedWrites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachStep(t, func(w *faultWorld, step faultproxy.Step) {
				test(w, c, c.prepare(w.world), step)
				w.requireBooksBalance()
			})
		})
	}
}

func TestWriteWhoseConnectionIsCutIsTriedAgainAndDoneOnce(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(w *faultWorld, c write, source job.Job, step faultproxy.Step) {
		hold := w.proxy.Hold(step, c.sql)
		call := async(func() (job.Accepted, error) { return c.call(w.far, source) })
		hold.Cut(w)
		got := <-call
		require.NoError(w, got.err)
		require.Equal(w, step == faultproxy.AfterCommit && c.anonymous, got.value.Replayed)
		require.Equal(w, 1, w.count(c.made))
		again, err := c.call(w.world, source)
		require.NoError(w, err)
		require.True(w, again.Replayed)
		require.Equal(w, got.value.Job, again.Job)
	})
}

func TestWriteThatIsCutAtEveryTryIsUnavailableAndItsKeyFindsWhatWasDone(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(w *faultWorld, c write, source job.Job, step faultproxy.Step) {
		var holds [maxTries]*faultproxy.Hold
		for i := range holds {
			holds[i] = w.proxy.Hold(step, c.sql)
		}
		call := async(func() (job.Accepted, error) { return c.call(w.far, source) })
		for _, hold := range holds {
			hold.Cut(w)
		}
		requireProblem(w, job.CodeDatabaseUnavailable, (<-call).err)
		committed := step == faultproxy.AfterCommit
		require.Equal(w, committed, w.count(c.made) == 1)
		again, err := c.call(w.far, source)
		require.NoError(w, err)
		require.Equal(w, committed, again.Replayed)
		require.Equal(w, 1, w.count(c.made))
	})
}

func TestExecutionWhoseConnectionIsCutHasItsEffectsOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step faultproxy.Step
		sql  string
	}{
		"before the payload":            {faultproxy.BeforeStatement, leasedPayloadSQL},
		"before the load":               {faultproxy.BeforeCommit, succeedSQL},
		"between commit and its answer": {faultproxy.AfterCommit, succeedSQL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFaultWorld(t)
			j, lease := w.running()
			lease.Payload = nil // as that of a long batch, which goes alone
			hold := w.proxy.Hold(c.step, c.sql)
			execution := w.far.execute(lease)
			hold.Cut(t)
			requireLoadError(t, job.FailureTargetUnavailable, true, (<-execution).err)

			verdict := w.far.store.Retry(t.Context(), lease, 0) // which waits until the server has rolled back
			if c.step == faultproxy.AfterCommit {
				require.ErrorIs(t, verdict, worker.ErrStale)
			} else {
				require.NoError(t, verdict)
				w.requireNoEffects(j.ID)
				require.NoError(t, w.far.store.Execute(t.Context(), w.claim()))
			}
			require.Equal(t, job.StatusSucceeded, w.get(j.ID).Status)
			w.requireEffectsOnce(j.ID)
			w.requireBooksBalance()
		})
	}
}

func TestGatheredExecutionWhoseConnectionIsCutIsTriedAgainAndDoneOnce(t *testing.T) {
	t.Parallel()
	forEachStep(t, func(w *faultWorld, step faultproxy.Step) {
		j, lease := w.running()
		hold := w.proxy.Hold(step, gatheredExecutionSQL)
		execution := w.far.execute(lease)
		hold.Cut(w)
		if err := (<-execution).err; step == faultproxy.AfterCommit {
			require.Error(w, err, "its own first try took the lease")
		} else {
			require.NoError(w, err)
		}
		require.Equal(w, job.StatusSucceeded, w.get(j.ID).Status)
		w.requireEffectsOnce(j.ID)
		w.requireBooksBalance()
	})
}

func TestClaimWhoseAnswerIsLostLeavesTheJobToItsLease(t *testing.T) {
	t.Parallel()
	forEachStep(t, func(w *faultWorld, step faultproxy.Step) {
		j := w.submit()
		hold := w.proxy.Hold(step, claimSQL)
		claim := async(func() (worker.Claimed, error) { return w.far.store.Claim(w.Context(), aClaim(time.Minute)) })
		hold.Cut(w)
		got := <-claim
		require.NoError(w, got.err)
		lost := step == faultproxy.AfterCommit
		require.Equal(w, lost, len(got.value.Leases) == 0)
		require.Equal(w, 1, w.get(j.ID).AttemptCount)
		require.Empty(w, w.claimAll(10), "leased to one or to nobody")
		w.expire(j.ID)
		lease := w.claim()
		require.Equal(w, 2, lease.Attempt)
		require.NoError(w, w.store.Execute(w.Context(), lease))
		w.requireEffectsOnce(j.ID)
		w.requireBooksBalance()
	})
}

// aClaim asks for leases of some duration.
func aClaim(d time.Duration) worker.ClaimRequest {
	return worker.ClaimRequest{WorkerID: uuid.New(), Limit: 10, Duration: d, MaxAttempts: maxAttempts}
}

func TestVerdictWhoseConnectionIsCutIsGivenOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql     string
		verdict func(context.Context, *Store, worker.Lease) error
		status  job.Status
	}{
		"retry": {retrySQL, func(ctx context.Context, s *Store, l worker.Lease) error { return s.Retry(ctx, l, time.Hour) }, job.StatusPending},
		"fail":  {failSQL, func(ctx context.Context, s *Store, l worker.Lease) error { return s.Fail(ctx, l, job.FailureTarget) }, job.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachStep(t, func(w *faultWorld, step faultproxy.Step) {
				j, lease := w.running()
				hold := w.proxy.Hold(step, c.sql)
				verdict := async(func() (struct{}, error) { return struct{}{}, c.verdict(w.Context(), w.far.store, lease) })
				hold.Cut(w)
				if err := (<-verdict).err; step == faultproxy.AfterCommit {
					require.ErrorIs(w, err, worker.ErrStale, "its own verdict took the lease")
				} else {
					require.NoError(w, err)
				}
				require.Equal(w, c.status, w.get(j.ID).Status)
				require.Equal(w, 1, w.get(j.ID).AttemptCount)
				require.Empty(w, w.claimAll(10))
				w.requireBooksBalance()
			})
		})
	}
}

func TestCallAfterEveryIdleConnectionWasCutIsAnswered(t *testing.T) {
	t.Parallel()
	w := newFaultWorld(t)
	var idle []*pgxpool.Conn
	for range 2 * maxTries {
		conn, err := w.far.pool.Acquire(t.Context())
		require.NoError(t, err)
		idle = append(idle, conn)
	}
	for _, conn := range idle {
		conn.Release()
	}
	w.proxy.Down()
	w.proxy.Up()
	_, err := w.far.service.Submit(t.Context(), w.owner, key(t, "k"), batch)
	require.NoError(t, err)
}
