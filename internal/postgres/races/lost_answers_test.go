package races

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/faultproxy"
	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
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
	proxy := faultproxy.Start(t, w.URL)
	return &faultWorld{w, proxy, &world{storetest.On(t, proxy.URL())}}
}

// write is a call with an idempotency key, and the statement that it commits.
type write struct {
	statement string
	prepare   func(*world) job.Job
	call      func(*world, job.Job) (job.Accepted, error)
	// made counts what the call made.
	made string
	// anonymous says that the row does not tell which call made it, so that a second try finds its own work done.
	anonymous bool
	// passedOver says that the job is held while the statement that is shared looks for it, so that the call goes alone.
	passedOver bool
}

var keyedWrites = map[string]write{
	"submit": {
		statement: "submit",
		prepare:   func(*world) job.Job { return job.Job{} },
		call: func(w *world, _ job.Job) (job.Accepted, error) {
			return w.Service.Submit(w.Context(), w.Owner, storetest.Key(w, "k"), storetest.Batch)
		},
		made: "etl_job_records WHERE job_status = 'PENDING'",
	},
	"long submit": {
		statement: "submit",
		prepare:   func(*world) job.Job { return job.Job{} },
		call: func(w *world, _ job.Job) (job.Accepted, error) {
			return w.Service.Submit(w.Context(), w.Owner, storetest.Key(w, "k"), storetest.LongBatch())
		},
		made: "etl_job_records WHERE job_status = 'PENDING'",
	},
	"cancel": {
		statement: "cancel",
		prepare:   func(w *world) job.Job { return w.Submit() },
		call:      func(w *world, j job.Job) (job.Accepted, error) { return w.Cancel(j, "k") },
		made:      "etl_job_records WHERE job_status = 'CANCELLED'",
		anonymous: true,
	},
	"cancel waiting": {
		statement:  "cancel waiting",
		prepare:    func(w *world) job.Job { return w.Submit() },
		call:       func(w *world, j job.Job) (job.Accepted, error) { return w.Cancel(j, "k") },
		made:       "etl_job_records WHERE job_status = 'CANCELLED'",
		anonymous:  true,
		passedOver: true,
	},
	"replay": {
		statement: "replay",
		prepare:   func(w *world) job.Job { return w.FailedJob() },
		call:      func(w *world, j job.Job) (job.Accepted, error) { return w.Replay(j, "k") },
		made:      "etl_job_records WHERE replay_source_job_record_id IS NOT NULL",
	},
}

// hold makes the next connection that executes a statement stop at a step.
func (w *faultWorld) hold(step faultproxy.Step, statement string) *faultproxy.Hold {
	return w.proxy.Hold(step, statements.Named(statement).SQL)
}

// start makes the call through the proxy, in the background.
func (w *faultWorld) start(c write, source job.Job) <-chan storetest.Result[job.Accepted] {
	w.Helper()
	call := func() (job.Accepted, error) { return c.call(w.far, source) }
	if !c.passedOver {
		return storetest.Async(call)
	}
	holding := w.Begin()
	_, err := holding.Exec(w.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", source.ID)
	require.NoError(w, err)
	shared := w.hold(faultproxy.AfterCommit, "cancel")
	started := storetest.Async(call)
	shared.Wait(w)
	require.NoError(w, holding.Rollback(w.Context()))
	shared.Pass(w)
	return started
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
				w.RequireBooksBalance()
			})
		})
	}
}

func TestWriteWhoseConnectionIsCutIsTriedAgainAndDoneOnce(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(w *faultWorld, c write, source job.Job, step faultproxy.Step) {
		hold := w.hold(step, c.statement)
		call := w.start(c, source)
		hold.Cut(w)
		got := <-call
		require.NoError(w, got.Err)
		require.Equal(w, step == faultproxy.AfterCommit && c.anonymous, got.Value.Replayed)
		require.Equal(w, 1, w.Count(c.made))
		again, err := c.call(w.world, source)
		require.NoError(w, err)
		require.True(w, again.Replayed)
		require.Equal(w, got.Value.Job, again.Job)
	})
}

func TestWriteThatIsCutAtEveryTryIsUnavailableAndItsKeyFindsWhatWasDone(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(w *faultWorld, c write, source job.Job, step faultproxy.Step) {
		var holds [db.MaxTries]*faultproxy.Hold
		for i := range holds {
			holds[i] = w.hold(step, c.statement)
		}
		call := w.start(c, source)
		for _, hold := range holds {
			hold.Cut(w)
		}
		storetest.RequireProblem(w, job.CodeDatabaseUnavailable, (<-call).Err)
		committed := step == faultproxy.AfterCommit
		require.Equal(w, committed, w.Count(c.made) == 1)
		again, err := c.call(w.far, source)
		require.NoError(w, err)
		require.Equal(w, committed, again.Replayed)
		require.Equal(w, 1, w.Count(c.made))
	})
}

func TestExecutionWhoseConnectionIsCutHasItsEffectsOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step      faultproxy.Step
		statement string
	}{
		"before the payload":            {faultproxy.BeforeStatement, "leased payload"},
		"before the load":               {faultproxy.BeforeCommit, "succeed"},
		"between commit and its answer": {faultproxy.AfterCommit, "succeed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFaultWorld(t)
			j, lease := w.RunningJob()
			lease.Payload = nil // as that of a long batch, which goes alone
			hold := w.hold(c.step, c.statement)
			execution := w.far.Execute(lease)
			hold.Cut(t)
			storetest.RequireLoadError(t, job.FailureTargetUnavailable, true, (<-execution).Err)

			verdict := w.far.Store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried}) // which waits until the server has rolled back
			if c.step == faultproxy.AfterCommit {
				require.ErrorIs(t, verdict, worker.ErrStale)
			} else {
				require.NoError(t, verdict)
				w.RequireNoEffects(j.ID)
				require.NoError(t, w.far.Store.Execute(t.Context(), w.Claim()))
			}
			require.Equal(t, job.StatusSucceeded, w.Get(j.ID).Status)
			w.RequireEffectsOnce(j.ID)
			w.RequireBooksBalance()
		})
	}
}

func TestSharedExecutionWhoseConnectionIsCutIsTriedAgainAndDoneOnce(t *testing.T) {
	t.Parallel()
	forEachStep(t, func(w *faultWorld, step faultproxy.Step) {
		j, lease := w.RunningJob()
		hold := w.hold(step, "execute")
		execution := w.far.Execute(lease)
		hold.Cut(w)
		if err := (<-execution).Err; step == faultproxy.AfterCommit {
			require.Error(w, err, "its own first try took the lease")
		} else {
			require.NoError(w, err)
		}
		require.Equal(w, job.StatusSucceeded, w.Get(j.ID).Status)
		w.RequireEffectsOnce(j.ID)
		w.RequireBooksBalance()
	})
}

func TestClaimWhoseAnswerIsLostLeavesTheJobToItsLease(t *testing.T) {
	t.Parallel()
	forEachStep(t, func(w *faultWorld, step faultproxy.Step) {
		j := w.Submit()
		hold := w.hold(step, "claim")
		claim := storetest.Async(func() (worker.Claimed, error) { return w.far.Store.Claim(w.Context(), aClaim(time.Minute)) })
		hold.Cut(w)
		got := <-claim
		require.NoError(w, got.Err)
		lost := step == faultproxy.AfterCommit
		require.Equal(w, lost, len(got.Value.Leases) == 0)
		require.Equal(w, 1, w.Get(j.ID).AttemptCount)
		require.Empty(w, w.ClaimAll(10), "leased to one or to nobody")
		w.Expire(j.ID)
		lease := w.Claim()
		require.Equal(w, 2, lease.Attempt)
		require.NoError(w, w.Store.Execute(w.Context(), lease))
		w.RequireEffectsOnce(j.ID)
		w.RequireBooksBalance()
	})
}

// aClaim asks for leases of some duration.
func aClaim(d time.Duration) worker.ClaimRequest {
	return worker.ClaimRequest{WorkerID: uuid.New(), Limit: 10, Duration: d, MaxAttempts: storetest.MaxAttempts}
}

func TestVerdictWhoseConnectionIsCutIsGivenOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string
		verdict   func(context.Context, *postgres.Store, worker.Lease) error
		status    job.Status
	}{
		"retry": {"retry", func(ctx context.Context, s *postgres.Store, l worker.Lease) error {
			return s.Retry(ctx, l, worker.Return{Outcome: job.AttemptRetried, Delay: time.Hour})
		}, job.StatusPending},
		"fail": {"fail", func(ctx context.Context, s *postgres.Store, l worker.Lease) error {
			return s.Fail(ctx, l, worker.Failure{Code: job.FailureTarget})
		}, job.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachStep(t, func(w *faultWorld, step faultproxy.Step) {
				j, lease := w.RunningJob()
				hold := w.hold(step, c.statement)
				verdict := storetest.Async(func() (struct{}, error) { return struct{}{}, c.verdict(w.Context(), w.far.Store, lease) })
				hold.Cut(w)
				if err := (<-verdict).Err; step == faultproxy.AfterCommit {
					require.ErrorIs(w, err, worker.ErrStale, "its own verdict took the lease")
				} else {
					require.NoError(w, err)
				}
				require.Equal(w, c.status, w.Get(j.ID).Status)
				require.Equal(w, 1, w.Get(j.ID).AttemptCount)
				require.Empty(w, w.ClaimAll(10))
				w.RequireBooksBalance()
			})
		})
	}
}

func TestCallAfterEveryIdleConnectionWasCutIsAnswered(t *testing.T) {
	t.Parallel()
	w := newFaultWorld(t)
	var idle []*pgxpool.Conn
	for range 2 * db.MaxTries {
		conn, err := w.far.StorePool.Acquire(t.Context())
		require.NoError(t, err)
		idle = append(idle, conn)
	}
	for _, conn := range idle {
		conn.Release()
	}
	w.proxy.Down()
	w.proxy.Up()
	_, err := w.far.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), storetest.Batch)
	require.NoError(t, err)
}
