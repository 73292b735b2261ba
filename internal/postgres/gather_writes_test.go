package postgres

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// gather makes calls in the background, of which all but the first share a statement: they come while that of the first waits for the
// table, which is locked until all are there.
func gather[C, P, R any](w *world, g *gatherer[C, P], calls ...func() (R, error)) []<-chan result[R] {
	w.Helper()
	unlock := w.lockTable()
	results := []<-chan result[R]{async(calls[0])}
	w.waitForLock()
	for i, call := range calls[1:] {
		results = append(results, async(call))
		w.waitForCalls(g.count, i+1)
	}
	unlock()
	return results
}

// count is the number of calls that wait for a statement.
func (g *gatherer[C, R]) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

func (w *world) waitForCalls(count func() int, n int) {
	w.Helper()
	require.Eventually(w, func() bool { return count() == n }, patience, time.Millisecond)
}

func (w *world) cancelLater(j job.Job, keyText string) func() (job.Accepted, error) {
	return func() (job.Accepted, error) { return w.cancel(j, keyText) }
}

func (w *world) submitLater(keyText string, payload []byte) func() (job.Accepted, error) {
	return func() (job.Accepted, error) {
		return w.service.Submit(w.Context(), w.owner, key(w, keyText), payload)
	}
}

func TestCancellationsThatComeTogetherAreDecidedOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded := w.succeeded()
	running, lease := w.running()
	pending, contested := w.submit(), w.submit()
	foreign := func() (job.Accepted, error) {
		return w.service.Cancel(t.Context(), job.OwnerOf("owner b"), contested.ID.String(), key(t, "k"))
	}
	results := gather(w, w.store.cancellations, w.cancelLater(w.submit(), "k"),
		foreign, w.cancelLater(pending, "k"), w.cancelLater(running, "k"), w.cancelLater(contested, "k"),
		w.cancelLater(contested, "another key"), w.cancelLater(job.Job{ID: uuid.Max}, "k"), w.cancelLater(succeeded, "k"))
	require.NoError(t, (<-results[0]).err)
	requireProblem(t, job.CodeJobNotFound, (<-results[1]).err)
	for i, j := range map[int]job.Job{2: pending, 3: running} {
		accepted := <-results[i]
		require.NoError(t, accepted.err)
		require.Equal(t, job.Accepted{Job: w.get(j.ID)}, accepted.value)
		require.Equal(t, job.StatusCancelled, accepted.value.Job.Status)
	}
	first, second := (<-results[4]).err, (<-results[5]).err
	if first != nil {
		first, second = second, first
	}
	require.NoError(t, first)
	requireProblem(t, job.CodeCancellationKeyReused, second)
	requireProblem(t, job.CodeJobNotFound, (<-results[6]).err)
	requireProblem(t, job.CodeAlreadySucceeded, (<-results[7]).err)
	require.Equal(t, map[job.Status]int{job.StatusCancelled: 4}, w.counter.ended)
	require.ErrorIs(t, w.store.Execute(t.Context(), lease), worker.ErrStale)

	again, err := w.cancel(pending, "k") // the key of each went to its own job
	require.NoError(t, err)
	require.True(t, again.Replayed)
	w.requireNoEffects(running.ID)
}

func TestLockedJobKeepsNoOtherCancellationWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	locked, free := w.submit(), w.submit()
	holder := w.begin()
	_, err := holder.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", locked.ID)
	require.NoError(t, err)
	waiting := async(w.cancelLater(locked, "k"))
	w.waitForLock() // alone, for the row

	jobs, err := w.store.gatheredCancel(t.Context(), []cancellation{
		{jobKey{w.owner, locked.ID}, job.Hash{1}}, {jobKey{w.owner, free.ID}, job.Hash{2}},
	})
	require.NoError(t, err)
	require.Equal(t, []placed[job.Job]{{w.get(free.ID), 2}}, jobs)
	require.Equal(t, job.StatusCancelled, w.get(free.ID).Status)

	require.NoError(t, holder.Rollback(t.Context()))
	accepted := <-waiting
	require.NoError(t, accepted.err)
	require.Equal(t, w.get(locked.ID), accepted.value.Job)
}

func TestCancellationThatIsGivenUpHappensAndIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.listen()
	j := w.submit()
	w.requireNotice(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusPending})
	unlock := w.lockTable()
	leaving, leave := context.WithCancel(t.Context())
	call := async(func() (job.CancelResult, error) { return w.store.Cancel(leaving, w.owner, j.ID, job.Hash{1}) })
	w.waitForLock()
	leave()
	require.ErrorIs(t, (<-call).err, context.Canceled)
	unlock()
	w.requireNotice(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusCancelled})
	require.Equal(t, job.StatusCancelled, w.get(j.ID).Status)
}

func TestCancellationThatIsGivenUpBeforeItIsSentNeverHappens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blocking, given, next := w.submit(), w.submit(), w.submit()
	unlock := w.lockTable()
	results := []<-chan result[job.Accepted]{async(w.cancelLater(blocking, "k"))}
	w.waitForLock()
	leaving, leave := context.WithCancel(t.Context())
	waiting := async(func() (job.CancelResult, error) { return w.store.Cancel(leaving, w.owner, given.ID, job.Hash{1}) })
	w.waitForCalls(w.store.cancellations.count, 1)
	leave()
	require.ErrorIs(t, (<-waiting).err, context.Canceled)
	results = append(results, async(w.cancelLater(next, "k")))
	w.waitForCalls(w.store.cancellations.count, 1)
	unlock()
	require.NoError(t, (<-results[0]).err)
	require.NoError(t, (<-results[1]).err)
	require.Equal(t, given, w.get(given.ID))
}

func TestSubmissionsThatComeTogetherAreDecidedOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calls := []func() (job.Accepted, error){w.submitLater("first", batch)}
	for i := range gatheredAtOnce { // so that there are two further statements
		calls = append(calls, w.submitLater(strconv.Itoa(i), batch), w.submitLater(strconv.Itoa(i), batch))
	}
	calls = append(calls, w.submitLater("first", batch), w.submitLater("first", []byte(`[]`)))
	results := gather(w, w.store.submissions, calls...)
	first := <-results[0]
	require.Equal(t, result[job.Accepted]{value: job.Accepted{Job: w.get(first.value.Job.ID)}}, first)
	for i := range gatheredAtOnce {
		one, other := <-results[2*i+1], <-results[2*i+2]
		require.NoError(t, one.err)
		require.NoError(t, other.err)
		require.Equal(t, one.value.Job, other.value.Job)
		require.NotEqual(t, one.value.Replayed, other.value.Replayed)
	}
	again := <-results[len(results)-2]
	require.Equal(t, result[job.Accepted]{value: job.Accepted{Job: first.value.Job, Replayed: true}}, again)
	requireProblem(t, job.CodeSubmissionKeyReused, (<-results[len(results)-1]).err)
	require.Equal(t, map[int]int{0: gatheredAtOnce + 1}, w.counter.created)
	require.Equal(t, gatheredAtOnce+1, w.count("etl_job_records WHERE request_payload = $1 AND request_digest = sha256($1)", batch))
}

func TestBusyKeyFailsNoOtherSubmission(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLockTimeout(time.Second))
	n := w.newJob("busy", batch)
	holder := w.begin()
	_, err := holder.Exec(t.Context(), submitSQL, n.Owner[:], n.ID, n.KeyHash[:], n.Payload.Digest[:], n.Payload.Bytes, n.Payload.RecordCount)
	require.NoError(t, err)

	busy := []<-chan result[job.Accepted]{async(w.submitLater("busy", batch))}
	w.waitForLock()
	busy = append(busy, async(w.submitLater("busy", batch)))
	free := async(w.submitLater("free", batch))
	w.waitForCalls(w.store.submissions.count, 2) // and they will share the next statement
	require.NoError(t, (<-free).err)
	for _, b := range busy {
		requireProblem(t, job.CodeSubmissionInProgress, (<-b).err)
	}
	require.NoError(t, holder.Rollback(t.Context()))
}
