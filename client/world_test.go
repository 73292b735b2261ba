package client_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/ratelimit"
	"fencepost/internal/telemetry"
	"fencepost/internal/worker"
	"fencepost/rest"
)

// batch is the payload of most tests.
const batch = `[{"id":"alpha","amount":1},{"id":"beta","amount":2}]`

// world is a server with a database of its own, and no workers.
type world struct {
	testing.TB
	pool   *pgxpool.Pool
	store  *postgres.Store
	server *httptest.Server
	// front is what a request meets before the server, such as a proxy. It may be replaced at any time.
	front atomic.Pointer[func(next http.Handler) http.Handler]
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newLimitedWorld(t, ratelimit.Rates{}, time.Now)
}

// newLimitedWorld starts a server whose rates are counted on a clock of the test's own.
func newLimitedWorld(t testing.TB, rates ratelimit.Rates, now func() time.Time) *world {
	t.Helper()
	pool := pgtest.Pool(t)
	store := postgres.NewStore(pool, postgres.Config{LockTimeout: 50 * time.Millisecond, CallTimeout: 20 * time.Second})
	w := &world{TB: t, pool: pool, store: store}
	limits := job.Limits{MaxPayloadBytes: 1000, MaxBatchRecords: 10}
	handler := rest.New(rest.Config{
		Service:       job.NewService(store, limits, telemetry.NewMetrics()).WithReasons(storetest.Reasons(t)),
		Authenticator: authenticator,
		Limiter:       ratelimit.New(rates, now),
		Ready:         pool.Ping,
		RetryAfter:    time.Millisecond,
		Log:           slog.New(slog.DiscardHandler),
	})
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if front := w.front.Load(); front != nil {
			(*front)(handler).ServeHTTP(rw, r)
			return
		}
		handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() { w.server.Close(); store.Close() })
	return w
}

// client returns a client of the server that does without help: a retry fails the test unless an option says otherwise.
func (w *world) client(options ...client.Option) *client.Client {
	w.Helper()
	common := []client.Option{
		client.WithBaseURL(w.server.URL), client.WithCredentials(user, password),
		client.WithRetryNotice(func(err error, _ time.Duration) { w.Errorf("retried after %v", err) }),
	}
	c, err := client.New(append(common, options...)...)
	require.NoError(w, err)
	return c
}

// before puts something in front of the server for the first n requests.
func (w *world) before(n int64, answer func(rw http.ResponseWriter, r *http.Request, next http.Handler)) {
	var seen atomic.Int64
	front := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if seen.Add(1) > n {
				next.ServeHTTP(rw, r)
				return
			}
			answer(rw, r, next)
		})
	}
	w.front.Store(&front)
}

// retries counts the retries of a client, and keeps what they were for.
type retries struct {
	mu   sync.Mutex
	errs []error
}

func (r *retries) option() client.Option {
	return client.WithRetryNotice(func(err error, _ time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	})
}

func (w *world) submit(c *client.Client) uuid.UUID {
	w.Helper()
	accepted, err := c.Submit(w.Context(), client.NewKey(), []byte(batch))
	require.NoError(w, err)
	require.False(w, accepted.Replayed)
	return accepted.ID
}

func (w *world) cancelled(c *client.Client) uuid.UUID {
	w.Helper()
	id := w.submit(c)
	w.cancel(c, id)
	return id
}

func (w *world) cancel(c *client.Client, id uuid.UUID) {
	w.Helper()
	_, err := c.Cancel(w.Context(), id, "cancel")
	require.NoError(w, err)
}

func (w *world) replay(c *client.Client, source uuid.UUID) uuid.UUID {
	w.Helper()
	accepted, err := c.Replay(w.Context(), source, client.NewKey(), []byte(batch))
	require.NoError(w, err)
	return accepted.ID
}

// claim leases the only job that waits.
func (w *world) claim() worker.Lease {
	w.Helper()
	claimed, err := w.store.Claim(context.Background(), worker.ClaimRequest{WorkerID: uuid.New(), Limit: 1, Duration: time.Hour, MaxAttempts: 3})
	require.NoError(w, err)
	require.Len(w, claimed.Leases, 1)
	return claimed.Leases[0]
}

func (w *world) execute() {
	w.Helper()
	require.NoError(w, w.store.Execute(context.Background(), w.claim()))
}

// jobCount is the number of jobs in the database.
func (w *world) jobCount() (n int) {
	w.Helper()
	require.NoError(w, w.pool.QueryRow(w.Context(), `SELECT count(*) FROM etl_job_records`).Scan(&n))
	return n
}

// requireProblem wants the problem of a code, with the server's own texts.
func requireProblem(t *testing.T, err error, code client.Code) {
	t.Helper()
	var p *client.Problem
	require.ErrorAs(t, err, &p)
	d := code.Define()
	require.Equal(t, client.Problem{Code: code, Status: d.Status, Title: d.Title, Detail: d.Detail, RetryAfter: p.RetryAfter}, *p)
}
