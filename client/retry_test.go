package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/internal/ratelimit"
	"fencepost/jobtype"
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
	w := newWorld(t)
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
	w := newWorld(t)
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
	w := newWorld(t)
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
	require.Equal(t, jobtype.StatusCancelled, cancelled.Status)
	requireProblem(t, refusal, jobtype.CodeCancellationInProgress)
}

func TestDecidedConflictIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	id := w.submit(c)
	_, err := c.Replay(t.Context(), id, "key", []byte(batch))
	requireProblem(t, err, jobtype.CodeReplaySourceActive)
}

func TestRateLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64 // on the server's clock, which stands still until the client waits
	w := newLimitedWorld(t, ratelimit.Rates{Submit: 1}, func() time.Time { return time.Unix(1e9, passed.Load()) })
	var refusal error
	c := w.client(client.WithRetryNotice(func(err error, wait time.Duration) {
		refusal = err
		require.GreaterOrEqual(t, wait, time.Second)
		passed.Add(wait.Nanoseconds())
	}))
	w.submit(c)
	require.NoError(t, refusal)
	w.submit(c)
	require.Equal(t, 2, w.jobCount())
	requireProblem(t, refusal, jobtype.CodeRateLimited)
}

func TestProxyThatHasNoServerIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		w := newWorld(t)
		w.before(1, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(rw, `"no upstream"`, status)
		})
		var seen retries
		w.submit(w.client(seen.option()))
		require.Len(t, seen.errs, 1)
		require.EqualError(t, seen.errs[0], http.StatusText(status))
	}
}

// inAnHour is a transport whose server asks to come again in an hour.
type inAnHour struct{}

func (inAnHour) RoundTrip(*http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	answer.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
	answer.WriteHeader(http.StatusServiceUnavailable)
	return answer.Result(), nil
}

func TestRetryAfterMayBeADate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // on whose clock an attempt takes no time
		ctx, cancel := context.WithCancel(t.Context())
		var asked time.Duration
		c, err := client.New(client.WithBaseURL("http://127.0.0.1"), client.WithHTTPClient(&http.Client{Transport: inAnHour{}}),
			client.WithPatience(2*time.Hour), client.WithRetryNotice(func(_ error, wait time.Duration) {
				asked = wait
				cancel()
			}))
		require.NoError(t, err)
		_, err = c.Get(ctx, uuid.New())
		require.EqualError(t, err, "Service Unavailable")
		require.Equal(t, time.Hour, asked)
	})
}

// disconnected is a transport whose answers are lost.
type disconnected struct{}

func (disconnected) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func TestPatienceEndsTheRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // on whose clock an attempt takes no time
		const patience = 300 * time.Millisecond
		var seen retries
		c, err := client.New(client.WithBaseURL("http://127.0.0.1"), client.WithHTTPClient(&http.Client{Transport: disconnected{}}),
			client.WithPatience(patience), seen.option())
		require.NoError(t, err)
		began := time.Now()
		_, err = c.Get(t.Context(), uuid.New())
		require.ErrorIs(t, err, client.ErrUnreachable)
		require.NotEmpty(t, seen.errs)
		require.LessOrEqual(t, time.Since(began), patience)
	})
}

func TestWaitBeyondTheDeadlineIsNotBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
	w := newWorld(t)
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
	w := newWorld(t)
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
