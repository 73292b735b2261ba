package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/internal/worker"
	"fencepost/jobtype"
)

func TestSubmittedJobIsTheOneThatIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	accepted, err := c.Submit(t.Context(), `a key with "quotes" and \`, []byte(batch))
	require.NoError(t, err)
	require.Equal(t, jobtype.StatusPending, accepted.Status)
	require.Equal(t, "/api/etl/jobs/"+accepted.ID.String(), accepted.StatusURL)

	read, err := c.Get(t.Context(), accepted.ID)
	require.NoError(t, err)
	require.Equal(t, client.Job{
		ID: accepted.ID, Status: jobtype.StatusPending, RecordCount: 2,
		CreatedAt: read.CreatedAt, UpdatedAt: read.UpdatedAt,
	}, read)
	require.False(t, read.CreatedAt.IsZero())
}

func TestSameKeyIsTheSameJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	first, err := c.Submit(t.Context(), "key", []byte(batch))
	require.NoError(t, err)
	again, err := c.Submit(t.Context(), "key", []byte(batch))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.ID, again.ID)

	_, err = c.Submit(t.Context(), "key", []byte(`[]`))
	requireProblem(t, err, jobtype.CodeSubmissionKeyReused)
}

func TestNewKeysAreDifferent(t *testing.T) {
	t.Parallel()
	first, second := client.NewKey(), client.NewKey()
	require.NotEqual(t, first, second)
}

func TestImpossibleKeyIsRefusedAsTheServerWould(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	for _, key := range []string{"two\nlines", "schlüssel", strings.Repeat("x", 256)} {
		_, err := c.Submit(t.Context(), key, []byte(batch))
		requireProblem(t, err, jobtype.CodeInvalidIdempotencyKey)
		_, err = c.Cancel(t.Context(), uuid.New(), key)
		requireProblem(t, err, jobtype.CodeInvalidIdempotencyKey)
	}
	_, err := c.Submit(t.Context(), "", []byte(batch))
	requireProblem(t, err, jobtype.CodeSubmissionKeyRequired)
}

func TestCancellationSaysWhatTheJobBecame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	id := w.submit(c)
	cancelled, err := c.Cancel(t.Context(), id, "stop")
	require.NoError(t, err)
	require.Equal(t, jobtype.StatusCancelled, cancelled.Status)
	require.Equal(t, "etl_job_cancelled_by_owner", cancelled.CancellationCode)
	require.False(t, cancelled.CancelledAt.IsZero())
	require.False(t, cancelled.Replayed)

	again, err := c.Cancel(t.Context(), id, "stop")
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, cancelled.Job, again.Job)
}

func TestRefusedBatchSaysWhere(t *testing.T) {
	t.Parallel()
	c := newWorld(t).client()
	_, err := c.Submit(t.Context(), "k", []byte(`[{"id":"a"},{},5]`))
	problem, _ := errors.AsType[*client.Problem](err)
	require.Equal(t, []jobtype.RecordError{
		{Pointer: "/1/id", Code: jobtype.RecordMissingID}, {Pointer: "/2", Code: jobtype.RecordNotAnObject},
	}, problem.Errors)
	require.ErrorContains(t, err, "can be stored. Found: missing_id at /1/id, not_an_object at /2. (etl_invalid_record)")
	_, err = c.Submit(t.Context(), "k", []byte(`[}`))
	problem, _ = errors.AsType[*client.Problem](err)
	require.EqualValues(t, 1, *problem.Offset)
	require.ErrorContains(t, err, "levels deep. It stops being one at byte 1. (etl_invalid_json)")
}

func TestCancellationSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	id := w.submit(c)
	_, err := c.Cancel(t.Context(), id, "stop", client.WithReason("maintenance"))
	problem, _ := errors.AsType[*client.Problem](err)
	require.Equal(t, jobtype.CodeInvalidCancellationReason, problem.Code)
	require.Equal(t, []string{jobtype.CancellationByOwner, "wrong_batch", "superseded"}, problem.Allowed)
	require.ErrorContains(t, err, "or none. Allowed: etl_job_cancelled_by_owner, wrong_batch, superseded. (etl_invalid_cancellation_reason)")

	cancelled, err := c.Cancel(t.Context(), id, "stop", client.WithReason("wrong_batch"))
	require.NoError(t, err)
	require.Equal(t, "wrong_batch", cancelled.CancellationCode)
	_, err = c.Cancel(t.Context(), id, "stop")
	requireProblem(t, err, jobtype.CodeCancellationKeyReused)
}

func TestReplayIsANewJobThatNamesItsSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	source := w.cancelled(c)
	accepted, err := c.Replay(t.Context(), source, "again", []byte(batch))
	require.NoError(t, err)
	require.Equal(t, client.Derivation{SourceID: source, RootID: source, Generation: 1}, accepted.Derivation)

	derived, err := c.Get(t.Context(), accepted.ID)
	require.NoError(t, err)
	require.Equal(t, accepted.Derivation, derived.Derivation)
	_, err = c.Replay(t.Context(), source, "other bytes", []byte(`[]`))
	requireProblem(t, err, jobtype.CodeReplayPayloadMismatch)
}

func TestListFollowsItsPagesAndFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	oldest, middle := w.submit(c), w.cancelled(c)
	derived := w.replay(c, middle)

	require.Equal(t, []uuid.UUID{derived, middle, oldest}, w.list(c, client.Filter{PageSize: 1}))
	require.Equal(t, []uuid.UUID{derived, oldest}, w.list(c, client.Filter{Statuses: []client.Status{jobtype.StatusPending}}))
	require.Equal(t, []uuid.UUID{derived}, w.list(c, client.Filter{Replay: new(true)}))
	require.Equal(t, []uuid.UUID{middle, oldest}, w.list(c, client.Filter{Replay: new(false)}))
	for job, err := range c.List(t.Context(), client.Filter{PageSize: 1}) {
		require.NoError(t, err)
		require.Equal(t, derived, job.ID)
		break
	}
}

func TestAttemptsAreReadWithAllTheirPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	id := w.submit(c)
	none, err := c.Attempts(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, none)
	const attempts = 101
	for range attempts {
		require.NoError(t, w.store.Retry(t.Context(), w.claim(), worker.Return{Outcome: "load_closed", SQLState: "42P01"}))
	}
	all, err := c.Attempts(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, all, attempts)
	require.Equal(t, attempts, all[attempts-1].Number)
	require.Equal(t, "42P01", all[0].SQLState)
	_, err = c.Attempts(t.Context(), uuid.New())
	requireProblem(t, err, jobtype.CodeJobNotFound)
}

func (w *world) list(c *client.Client, f client.Filter) (ids []uuid.UUID) {
	w.Helper()
	for job, err := range c.List(w.Context(), f) {
		require.NoError(w, err)
		ids = append(ids, job.ID)
	}
	return ids
}

func TestListEndsAfterAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	turns := 0
	for _, err := range w.client().List(t.Context(), client.Filter{PageSize: 101}) {
		requireProblem(t, err, jobtype.CodeInvalidPageRequest)
		turns++
	}
	require.Equal(t, 1, turns)
}

func TestCredentialsAndUserAgentAreSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.before(1, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		require.Equal(t, "loader/1.0", r.UserAgent())
		next.ServeHTTP(rw, r)
	})
	w.submit(w.client(client.WithUserAgent("loader/1.0")))

	for _, secret := range []string{"wrong password", ""} {
		_, err := w.client(client.WithCredentials(user, secret)).Get(t.Context(), uuid.New())
		requireProblem(t, err, jobtype.CodeAuthenticationRequired)
	}
	_, err := w.client(client.WithCredentials("", "")).Get(t.Context(), uuid.New())
	requireProblem(t, err, jobtype.CodeAuthenticationRequired)
}

func TestAnswerOfAnotherServerIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.before(1, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = rw.Write([]byte("<html>")) })
	_, err := w.client().Get(t.Context(), uuid.New())
	require.ErrorContains(t, err, "not one of a Fencepost server")
}
