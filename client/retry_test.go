package client_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/internal/ratelimit"
)

// hangUp ends the connection of a request without an answer.
func hangUp(rw http.ResponseWriter) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.Close()
}

func TestLostAnswerIsAskedForAgainUnderTheSameKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{})
	w.before(2, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r) // the server commits, and nobody hears of it
		hangUp(rw)
	})
	var seen retries
	accepted, err := w.client(seen.option()).Submit(t.Context(), "key", []byte(batch))
	require.NoError(t, err)
	require.True(t, accepted.Replayed)
	require.Equal(t, 1, w.jobCount())
	require.Len(t, seen.errs, 2)
	require.ErrorIs(t, seen.errs[0], client.ErrUnreachable)
}

func TestAnswerThatBreaksOffIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{})
	w.before(1, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("Content-Length", "100")
		_, _ = rw.Write([]byte("{"))
	})
	c, err := client.New(client.WithBaseURL(w.server.URL), client.WithCredentials(user, password))
	require.NoError(t, err)
	w.submit(c)
	require.Equal(t, 1, w.jobCount())
}

func TestUndecidedConflictIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{})
	id := w.submit(w.client())
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM etl_job_records FOR UPDATE`)
	require.NoError(t, err)

	var refusal error
	c := w.client(client.WithRetryNotice(func(err error, wait time.Duration) {
		refusal = err
		require.GreaterOrEqual(t, wait, time.Second, "as Retry-After asks")
		require.NoError(t, tx.Rollback(t.Context()))
	}))
	cancelled, err := c.Cancel(t.Context(), id, "key")
	require.NoError(t, err)
	require.Equal(t, client.StatusCancelled, cancelled.Status)
	requireProblem(t, refusal, client.CodeCancellationInProgress)
}

func TestDecidedConflictIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{})
	c := w.client()
	id := w.submit(c)
	_, err := c.Replay(t.Context(), id, "key", []byte(batch))
	requireProblem(t, err, client.CodeReplaySourceActive)
}

func TestRateLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{Submit: 1})
	var seen retries
	c := w.client(seen.option())
	w.submit(c)
	w.submit(c)
	require.Equal(t, 2, w.jobCount())
	require.NotEmpty(t, seen.errs)
	requireProblem(t, seen.errs[0], client.CodeRateLimited)
	require.GreaterOrEqual(t, seen.waits[0], time.Second)
}

func TestProxyThatHasNoServerIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		w := newWorld(t, ratelimit.Rates{})
		w.before(1, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			rw.Header().Set("Retry-After", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))
			http.Error(rw, `"no upstream"`, status)
		})
		var seen retries
		w.submit(w.client(seen.option()))
		require.Len(t, seen.errs, 1)
		require.EqualError(t, seen.errs[0], http.StatusText(status))
		require.Greater(t, seen.waits[0], time.Second/2, "the date is in one to two seconds")
	}
}

func TestPatienceEndsTheRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{})
	w.before(1000, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { hangUp(rw) })
	var seen retries
	_, err := w.client(seen.option(), client.WithPatience(300*time.Millisecond)).Get(t.Context(), uuid.New())
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.NotEmpty(t, seen.errs)
}

func TestWaitBeyondTheDeadlineIsNotBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{})
	w.before(1000, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("Retry-After", "99999999999")
		rw.WriteHeader(http.StatusServiceUnavailable)
	})
	_, err := w.client().Get(t.Context(), uuid.New())
	var p *client.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, http.StatusServiceUnavailable, p.Status)
}

func TestCancelledContextEndsTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{})
	w.before(1000, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("Retry-After", "60")
		rw.WriteHeader(http.StatusServiceUnavailable)
	})
	ctx, cancel := context.WithCancel(t.Context())
	c := w.client(client.WithRetryNotice(func(error, time.Duration) { cancel() }))
	_, err := c.Get(ctx, uuid.New())
	require.EqualError(t, err, "Service Unavailable")
	_, err = c.Get(ctx, uuid.New())
	require.ErrorIs(t, err, context.Canceled)
}

func TestWhatStaysWrongIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ratelimit.Rates{})
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	unknown := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "etl.example.com", IsNotFound: true}
		},
	}}
	for name, c := range map[string]*client.Client{
		"unknown host":          w.client(client.WithHTTPClient(unknown)),
		"untrusted certificate": w.client(client.WithBaseURL(secure.URL)),
		"no TLS":                w.client(client.WithBaseURL("https://" + w.server.Listener.Addr().String())),
	} {
		_, err := c.Get(t.Context(), uuid.New())
		require.ErrorIs(t, err, client.ErrUnreachable, name)
	}
}
