package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// traced runs something inside of a span, and returns the spans of this package.
func traced(t *testing.T, run func(ctx context.Context)) tracetest.SpanStubs {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	ctx, span := provider.Tracer("test").Start(t.Context(), "root")
	run(ctx)
	span.End()
	var spans tracetest.SpanStubs
	for _, s := range exporter.GetSpans() {
		if s.InstrumentationScope.Name != "test" {
			require.Equal(t, span.SpanContext().TraceID(), s.SpanContext.TraceID())
			spans = append(spans, s)
		}
	}
	return spans
}

func names(spans tracetest.SpanStubs) []string {
	var all []string
	for _, s := range spans {
		all = append(all, s.Name)
	}
	return all
}

func TestEachVerbAndEachOfItsStatementsIsTracedByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	for want, verb := range map[string]func(ctx context.Context) error{
		"[sql set sql set sql submit submit]": func(ctx context.Context) error {
			_, err := w.service.Submit(ctx, w.owner, key(t, "a"), batch)
			return err
		},
		"[sql job jobs]": func(ctx context.Context) error {
			_, err := w.service.Get(ctx, w.owner, j.ID.String())
			return err
		},
		"[sql set sql cancel cancel]": func(ctx context.Context) error {
			_, err := w.service.Cancel(ctx, w.owner, j.ID.String(), key(t, "b"))
			return err
		},
	} {
		spans := traced(t, func(ctx context.Context) { require.NoError(t, verb(ctx)) })
		require.Equal(t, want, fmt.Sprint(names(spans)))
		for _, statement := range spans[:len(spans)-1] {
			require.Equal(t, spans[len(spans)-1].SpanContext.SpanID(), statement.Parent.SpanID())
			require.False(t, statement.EndTime.Before(statement.StartTime))
		}
	}
}

func TestExecutionIsTracedStatementByStatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit()
	lease := w.claim()
	spans := traced(t, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		require.NoError(t, w.store.Execute(ctx, lease))
	})
	require.Equal(t, []string{"sql begin", "sql set", "sql load", "sql set", "sql succeed", "sql commit"}, names(spans))
}

func TestEveryStatementHasAName(t *testing.T) {
	t.Parallel()
	for _, st := range allStatements() {
		require.NotEqual(t, "load", statementName(st.sql), st.name)
	}
}

func TestFailureIsTracedByItsStateWithoutItsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLoad(t, `SELECT @job_record_id::uuid::text::integer`))
	id := w.submit().ID.String()
	lease := w.claim()
	spans := traced(t, func(ctx context.Context) { require.Error(t, w.store.Execute(ctx, lease)) })
	failed := spans[1] // behind the beginning
	require.Equal(t, "sql load", failed.Name)
	require.Equal(t, sdktrace.Status{Code: codes.Error}, failed.Status)
	require.Contains(t, fmt.Sprint(failed.Attributes), "22P02")
	require.NotContains(t, fmt.Sprintf("%+v", spans), id)
}

func TestAbsentJobIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spans := traced(t, func(ctx context.Context) {
		_, err := w.store.Cancel(ctx, w.owner, uuid.New(), [32]byte{})
		require.ErrorIs(t, err, job.ErrNotFound)
	})
	for _, s := range spans {
		require.Equal(t, codes.Unset, s.Status.Code, s.Name)
	}
}

// traceOf reads the trace context that is kept with a job, or "".
func (w *world) traceOf(id uuid.UUID) (parent string) {
	w.Helper()
	row := w.pool.QueryRow(w.Context(), `SELECT coalesce(trace_parent, '') FROM etl_job_records WHERE job_record_id = $1`, id)
	require.NoError(w, row.Scan(&parent))
	return parent
}

// tracedJobs makes jobs in traced requests: a submission, and the replay of a cancelled job.
func (w *world) tracedJobs() map[uuid.UUID]string {
	w.Helper()
	source := w.cancelled()
	parents := map[uuid.UUID]string{}
	for verb, create := range map[string]func(ctx context.Context) (job.Accepted, error){
		"submit": func(ctx context.Context) (job.Accepted, error) {
			return w.service.Submit(ctx, w.owner, key(w, uuid.NewString()), batch)
		},
		"replay": func(ctx context.Context) (job.Accepted, error) {
			return w.service.Replay(ctx, w.owner, source.ID.String(), key(w, uuid.NewString()), batch)
		},
	} {
		var id uuid.UUID
		spans := traced(w.T, func(ctx context.Context) {
			made, err := create(ctx)
			require.NoError(w, err)
			id = made.Job.ID
		})
		last := spans[len(spans)-1]
		require.Equal(w, verb, last.Name)
		parents[id] = fmt.Sprintf("00-%s-%s-01", last.SpanContext.TraceID(), last.SpanContext.SpanID())
	}
	return parents
}

func TestTraceOfTheRequestComesWithEachLeaseAndGoesWithThePayload(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, worker.Lease) error{
		"succeeded": func(w *world, l worker.Lease) error { return w.store.Execute(t.Context(), l) },
		"failed":    func(w *world, l worker.Lease) error { return w.store.Fail(t.Context(), l, job.FailureTarget) },
		"cancelled": func(w *world, l worker.Lease) error {
			_, err := w.store.Cancel(t.Context(), w.owner, l.JobID, job.Hash{})
			return err
		},
		"exhausted": func(w *world, l worker.Lease) error {
			w.mustExec(`UPDATE etl_job_records SET attempt_count = $1 WHERE job_record_id = $2`, maxAttempts, l.JobID)
			w.expire(l.JobID)
			delay := "UPDATE etl_job_records SET next_attempt_at = next_attempt_at + $1::interval WHERE job_status = 'PENDING'"
			w.mustExec(delay, time.Hour) // in a batch of one, chance would decide between the two
			w.claimAll(1)
			w.mustExec(delay, -time.Hour)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for id, parent := range w.tracedJobs() {
				require.Equal(t, parent, w.traceOf(id))
			}
			for range 2 {
				lease := w.claim()
				parent := w.traceOf(lease.JobID)
				require.Equal(t, parent, lease.TraceParent)
				require.NotEmpty(t, parent)
				require.NoError(t, w.store.Retry(t.Context(), lease, 0))
				lease = w.claim()
				require.Equal(t, w.traceOf(lease.JobID), lease.TraceParent, "each attempt has it")
				require.NoError(t, end(w, lease))
				require.Empty(t, w.traceOf(lease.JobID))
			}
		})
	}
}

func TestRequestThatIsNotTracedLeavesNoTraceWithItsJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true})
	dropped := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	unsampled, _ := dropped.Tracer("test").Start(t.Context(), "root")
	w.tracedJobs() // on a connection that comes back to the pool
	for _, ctx := range []context.Context{t.Context(), trace.ContextWithRemoteSpanContext(t.Context(), client), unsampled} {
		made, err := w.service.Submit(ctx, w.owner, key(t, uuid.NewString()), batch)
		require.NoError(t, err)
		require.Empty(t, w.traceOf(made.Job.ID))
	}
}

// A process that was started before the column was there ends jobs without knowing of it.
func TestTraceGoesWithThePayloadThoughTheStatementDoesNotNameIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id := range w.tracedJobs() {
		w.mustExec(`UPDATE etl_job_records SET job_status = 'FAILED', failure_code = 'etl_internal_error', request_payload = NULL
			WHERE job_record_id = $1`, id)
		require.Empty(t, w.traceOf(id))
	}
}
