package postgres_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// A roundTrips notes the texts of the statements that are sent together.
type roundTrips struct {
	mu   sync.Mutex
	sent [][]string
}

func (r *roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	var texts []string
	for _, q := range data.Batch.QueuedQueries {
		texts = append(texts, q.SQL)
	}
	if !slices.Contains(texts, statements.Named("notify").SQL) { // which is nobody's, and goes when it likes
		r.note(texts)
	}
	return ctx
}

func (*roundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*roundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (r *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.note([]string{data.SQL})
	return ctx
}

func (*roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *roundTrips) note(texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, texts)
}

// during are those of one call.
func (r *roundTrips) during(call func()) [][]string {
	r.mu.Lock()
	r.sent = nil
	r.mu.Unlock()
	call()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// noted is a world whose round trips are noted.
func noted(t *testing.T) (*world, *roundTrips) {
	t.Helper()
	w, trips := newWorld(t), &roundTrips{}
	config := w.StorePool.Config()
	config.ConnConfig.Tracer = multitracer.New(config.ConnConfig.Tracer, trips)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &world{w.On(pool)}, trips
}

// What is traced is what runs otherwise.
func TestTracedCallsSendTheSameStatementsAsOthers(t *testing.T) {
	t.Parallel()
	w, trips := noted(t)
	// Each makes what its call is about, and then the call.
	for name, verb := range map[string]func() func(ctx context.Context) error{
		"submit": func() func(ctx context.Context) error {
			k := storetest.Key(t, uuid.NewString())
			return func(ctx context.Context) error {
				_, err := w.Service.Submit(ctx, w.Owner, k, storetest.Batch)
				return err
			}
		},
		"submit again": func() func(ctx context.Context) error {
			k := storetest.Key(t, uuid.NewString())
			_, err := w.Service.Submit(t.Context(), w.Owner, k, storetest.Batch)
			require.NoError(t, err)
			return func(ctx context.Context) error {
				_, err := w.Service.Submit(ctx, w.Owner, k, storetest.Batch)
				return err
			}
		},
		"get": func() func(ctx context.Context) error {
			j := w.Submit()
			return func(ctx context.Context) error {
				_, err := w.Service.Get(ctx, w.Owner, j.ID.String())
				return err
			}
		},
		"cancel": func() func(ctx context.Context) error {
			j := w.Submit()
			return func(ctx context.Context) error {
				_, err := w.Service.Cancel(ctx, w.Owner, j.ID.String(), storetest.Key(t, "k"), "")
				return err
			}
		},
		"cancel again": func() func(ctx context.Context) error {
			j := w.CancelledJob()
			return func(ctx context.Context) error {
				_, err := w.Service.Cancel(ctx, w.Owner, j.ID.String(), storetest.Key(t, "cancel"), "")
				return err
			}
		},
		"replay": func() func(ctx context.Context) error {
			j := w.CancelledJob()
			return func(ctx context.Context) error {
				_, err := w.Service.Replay(ctx, w.Owner, j.ID.String(), storetest.Key(t, uuid.NewString()), storetest.Batch)
				return err
			}
		},
		"claim": func() func(ctx context.Context) error {
			w.Submit()
			return func(ctx context.Context) error {
				_, err := w.Store.Claim(ctx, worker.ClaimRequest{WorkerID: uuid.New(), Limit: 1, Duration: time.Minute, MaxAttempts: storetest.MaxAttempts})
				return err
			}
		},
		"execute": func() func(ctx context.Context) error {
			l := w.claimed()
			return func(ctx context.Context) error { return w.Store.Execute(ctx, l) }
		},
		"fail": func() func(ctx context.Context) error {
			l := w.claimed()
			return func(ctx context.Context) error { return w.Store.Fail(ctx, l, worker.Failure{Code: job.FailureTarget}) }
		},
	} {
		call := verb()
		untraced := trips.during(func() { require.NoError(t, call(t.Context()), name) })
		call = verb()
		traced := trips.during(func() {
			_, spans := storetest.Traced(t, func(ctx context.Context) { require.NoError(t, call(ctx), name) })
			require.NotEmpty(t, spans, name)
		})
		require.NotEmpty(t, untraced, name)
		require.Equal(t, untraced, traced, name)
	}
}
