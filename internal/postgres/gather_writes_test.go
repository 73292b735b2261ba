package postgres_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/batch"
	"fencepost/internal/faultproxy"
	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// gather makes calls in the background, of which all but the first share a statement: they come while that of the first waits for the
// table, which is locked until all are there.
func gather[R any](w *world, waiting func() int, calls ...func() (R, error)) []<-chan storetest.Result[R] {
	w.Helper()
	unlock := w.lockTable()
	results := []<-chan storetest.Result[R]{storetest.Async(calls[0])}
	w.WaitForLock()
	for i, call := range calls[1:] {
		results = append(results, storetest.Async(call))
		w.waitForCalls(waiting, i+1)
	}
	unlock()
	return results
}

func (w *world) waitForCalls(count func() int, n int) {
	w.Helper()
	require.Eventually(w, func() bool { return count() == n }, storetest.Patience, time.Millisecond)
}

func (w *world) cancelLater(j job.Job, keyText string) func() (job.Accepted, error) {
	return func() (job.Accepted, error) { return w.Cancel(j, keyText) }
}

func (w *world) submitLater(keyText string, payload []byte) func() (job.Accepted, error) {
	return func() (job.Accepted, error) {
		return w.Service.Submit(w.Context(), w.Owner, storetest.Key(w, keyText), payload)
	}
}

func TestCancellationsThatComeTogetherAreDecidedOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded := w.SucceededJob()
	running, lease := w.RunningJob()
	pending, contested := w.Submit(), w.Submit()
	foreign := func() (job.Accepted, error) {
		return w.Service.Cancel(t.Context(), job.OwnerOf("owner b"), contested.ID.String(), storetest.Key(t, "k"), "")
	}
	results := gather(w, w.Store.WaitingCancellations, w.cancelLater(w.Submit(), "k"),
		foreign, w.cancelLater(pending, "k"), w.cancelLater(running, "k"), w.cancelLater(contested, "k"),
		w.cancelLater(contested, "another key"), w.cancelLater(job.Job{ID: uuid.Max}, "k"), w.cancelLater(succeeded, "k"))
	require.NoError(t, (<-results[0]).Err)
	storetest.RequireProblem(t, job.CodeJobNotFound, (<-results[1]).Err)
	for i, j := range map[int]job.Job{2: pending, 3: running} {
		accepted := <-results[i]
		require.NoError(t, accepted.Err)
		require.Equal(t, job.Accepted{Job: w.Get(j.ID)}, accepted.Value)
		require.Equal(t, job.StatusCancelled, accepted.Value.Job.Status)
	}
	first, second := (<-results[4]).Err, (<-results[5]).Err
	if first != nil {
		first, second = second, first
	}
	require.NoError(t, first)
	storetest.RequireProblem(t, job.CodeCancellationKeyReused, second)
	storetest.RequireProblem(t, job.CodeJobNotFound, (<-results[6]).Err)
	storetest.RequireProblem(t, job.CodeAlreadySucceeded, (<-results[7]).Err)
	require.Equal(t, map[job.Status]int{job.StatusCancelled: 4}, w.Counter.Ended)
	require.ErrorIs(t, w.Store.Execute(t.Context(), lease), worker.ErrStale)

	again, err := w.Cancel(pending, "k") // the key of each went to its own job
	require.NoError(t, err)
	require.True(t, again.Replayed)
	w.RequireNoEffects(running.ID)
}

func TestCancellationsThatComeTogetherHaveEachTheirOwnReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	running, _ := w.RunningJob()
	jobs := []job.Job{w.Submit(), w.Submit(), running, w.Submit()}
	reasons := []string{"superseded", "wrong_batch", "superseded", job.CancellationByOwner}
	var calls []func() (job.Accepted, error)
	for i, j := range jobs {
		calls = append(calls, func() (job.Accepted, error) { return w.CancelFor(reasons[i], j, "k") })
	}
	for i, result := range gather(w, w.Store.WaitingCancellations, calls...) {
		accepted := <-result
		require.NoError(t, accepted.Err)
		require.Equal(t, reasons[i], accepted.Value.Job.CancellationCode)
		require.Equal(t, accepted.Value.Job, w.Get(jobs[i].ID))
	}
}

func TestOfTwoReasonsForOneJobThatComeTogetherOneWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	contested := w.Submit()
	cancelFor := func(reason string) func() (job.Accepted, error) {
		return func() (job.Accepted, error) { return w.CancelFor(reason, contested, "k") }
	}
	results := gather(w, w.Store.WaitingCancellations, w.cancelLater(w.Submit(), "k"), cancelFor("wrong_batch"), cancelFor("superseded"))
	require.NoError(t, (<-results[0]).Err)
	won, lost := <-results[1], <-results[2]
	code := "wrong_batch"
	if won.Err != nil {
		won, lost, code = lost, won, "superseded"
	}
	require.NoError(t, won.Err)
	require.Equal(t, code, won.Value.Job.CancellationCode)
	require.Equal(t, won.Value.Job, *storetest.RequireProblem(t, job.CodeCancellationKeyReused, lost.Err).Job)
	require.Equal(t, won.Value.Job, w.Get(contested.ID))
}

func TestLockedJobKeepsNoOtherCancellationWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	locked, free := w.Submit(), w.Submit()
	holder := w.Begin()
	_, err := holder.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", locked.ID)
	require.NoError(t, err)
	waiting := storetest.Async(w.cancelLater(locked, "k"))
	w.WaitForLock() // alone, for the row

	jobs, err := postgres.ShareCancellation(w.Store, t.Context(), []postgres.Cancellation{
		postgres.NewCancellation(w.Owner, locked.ID, job.Hash{1}, "wrong_batch"),
		postgres.NewCancellation(w.Owner, free.ID, job.Hash{2}, "superseded"),
	})
	require.NoError(t, err)
	require.Equal(t, []batch.Placed[job.Job]{{Result: w.Get(free.ID), Place: 2}}, jobs)
	require.Equal(t, "superseded", w.Get(free.ID).CancellationCode)

	require.NoError(t, holder.Rollback(t.Context()))
	accepted := <-waiting
	require.NoError(t, accepted.Err)
	require.Equal(t, w.Get(locked.ID), accepted.Value.Job)
}

func TestCancellationThatIsGivenUpHappensAndIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.Listen()
	j := w.Submit()
	w.RequireNotices(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusPending})
	unlock := w.lockTable()
	leaving, leave := context.WithCancel(t.Context())
	call := storetest.Async(func() (job.CancelResult, error) {
		return w.Store.Cancel(leaving, w.Owner, j.ID, job.Hash{1}, job.CancellationByOwner)
	})
	w.WaitForLock()
	leave()
	require.ErrorIs(t, (<-call).Err, context.Canceled)
	unlock()
	w.RequireNotices(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusCancelled})
	require.Equal(t, job.StatusCancelled, w.Get(j.ID).Status)
}

func TestCancellationThatIsGivenUpBeforeItIsSentNeverHappens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blocking, given, next := w.Submit(), w.Submit(), w.Submit()
	unlock := w.lockTable()
	results := []<-chan storetest.Result[job.Accepted]{storetest.Async(w.cancelLater(blocking, "k"))}
	w.WaitForLock()
	leaving, leave := context.WithCancel(t.Context())
	waiting := storetest.Async(func() (job.CancelResult, error) {
		return w.Store.Cancel(leaving, w.Owner, given.ID, job.Hash{1}, job.CancellationByOwner)
	})
	w.waitForCalls(w.Store.WaitingCancellations, 1)
	leave()
	require.ErrorIs(t, (<-waiting).Err, context.Canceled)
	results = append(results, storetest.Async(w.cancelLater(next, "k")))
	w.waitForCalls(w.Store.WaitingCancellations, 1)
	unlock()
	require.NoError(t, (<-results[0]).Err)
	require.NoError(t, (<-results[1]).Err)
	require.Equal(t, given, w.Get(given.ID))
}

func TestSubmissionsThatComeTogetherAreDecidedOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calls := []func() (job.Accepted, error){w.submitLater("first", storetest.Batch)}
	for i := range batch.Most { // so that there are two further statements
		calls = append(calls, w.submitLater(strconv.Itoa(i), storetest.Batch), w.submitLater(strconv.Itoa(i), storetest.Batch))
	}
	calls = append(calls, w.submitLater("first", storetest.Batch), w.submitLater("first", []byte(`[]`)))
	results := gather(w, w.Store.WaitingSubmissions, calls...)
	first := <-results[0]
	require.Equal(t, storetest.Result[job.Accepted]{Value: job.Accepted{Job: w.Get(first.Value.Job.ID)}}, first)
	for i := range batch.Most {
		one, other := <-results[2*i+1], <-results[2*i+2]
		require.NoError(t, one.Err)
		require.NoError(t, other.Err)
		require.Equal(t, one.Value.Job, other.Value.Job)
		require.NotEqual(t, one.Value.Replayed, other.Value.Replayed)
	}
	again := <-results[len(results)-2]
	require.Equal(t, storetest.Result[job.Accepted]{Value: job.Accepted{Job: first.Value.Job, Replayed: true}}, again)
	storetest.RequireProblem(t, job.CodeSubmissionKeyReused, (<-results[len(results)-1]).Err)
	require.Equal(t, map[int]int{0: batch.Most + 1}, w.Counter.Created)
	require.Equal(t, batch.Most+1, w.Count("etl_job_records WHERE request_payload = $1 AND request_digest = sha256($1)", storetest.Batch))
}

func TestBusyKeyFailsNoOtherSubmission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := w.Begin()
	w.Send(holder, "submit", storetest.SubmitArgs(w.NewJob("busy", storetest.Batch)))
	proxy := faultproxy.Start(t, w.URL)
	far := &world{storetest.On(t, proxy.URL(), storetest.WithLockTimeout(50*time.Millisecond))}
	underWay := proxy.Hold(faultproxy.AfterCommit, statements.Named("submit").SQL)
	first := storetest.Async(far.submitLater("first", storetest.Batch))
	underWay.Wait(t)
	busy := storetest.Async(far.submitLater("busy", storetest.Batch))
	free := storetest.Async(far.submitLater("free", storetest.Batch))
	w.waitForCalls(far.Store.WaitingSubmissions, 2) // and they will share the next statement
	underWay.Pass(t)
	require.NoError(t, (<-first).Err)
	require.NoError(t, (<-free).Err)
	storetest.RequireProblem(t, job.CodeSubmissionInProgress, (<-busy).Err)
	require.NoError(t, holder.Rollback(t.Context()))
}
