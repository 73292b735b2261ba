package postgres_test

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
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

func names(spans tracetest.SpanStubs) []string {
	var all []string
	for _, s := range spans {
		all = append(all, s.Name)
	}
	return all
}

// Each statement is in the span of the sending that shares it, and that is in the span of the call.
func TestEachVerbAndEachOfItsStatementsIsTracedByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	for want, verb := range map[string]func(ctx context.Context) error{
		"[sql submit shared submit submit]": func(ctx context.Context) error {
			_, err := w.Service.Submit(ctx, w.Owner, storetest.Key(t, "a"), storetest.Batch)
			return err
		},
		"[sql jobs shared jobs jobs]": func(ctx context.Context) error {
			_, err := w.Service.Get(ctx, w.Owner, j.ID.String())
			return err
		},
		"[sql cancel shared cancel cancel]": func(ctx context.Context) error {
			_, err := w.Service.Cancel(ctx, w.Owner, j.ID.String(), storetest.Key(t, "b"), "")
			return err
		},
	} {
		root, spans := storetest.Traced(t, func(ctx context.Context) { require.NoError(t, verb(ctx)) })
		require.Equal(t, want, fmt.Sprint(names(spans)))
		sql, shared, call := spans[:len(spans)-2], spans[len(spans)-2], spans[len(spans)-1]
		require.Equal(t, root.SpanContext.SpanID(), call.Parent.SpanID())
		require.Equal(t, call.SpanContext.SpanID(), shared.Parent.SpanID())
		for _, statement := range sql {
			require.Equal(t, shared.SpanContext.SpanID(), statement.Parent.SpanID())
			require.False(t, statement.EndTime.Before(statement.StartTime))
		}
	}
}

func TestCallThatGoesAloneHasItsStatementsInItsOwnSpan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, spans := storetest.Traced(t, func(ctx context.Context) {
		_, err := w.Service.Submit(ctx, w.Owner, storetest.Key(t, "a"), storetest.LongBatch())
		require.NoError(t, err)
	})
	require.Equal(t, []string{"sql submit", "submit"}, names(spans))
	for _, statement := range spans[:1] {
		require.Equal(t, spans[1].SpanContext.SpanID(), statement.Parent.SpanID())
	}
}

func TestExecutionIsTracedStatementByStatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SubmitLong()
	lease := w.Claim()
	_, spans := storetest.Traced(t, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		require.NoError(t, w.Store.Execute(ctx, lease))
	})
	require.Equal(t, []string{"sql leased payload", "sql begin", "sql load", "sql succeed", "sql commit"}, names(spans))
}

func TestFailureIsTracedByItsStateWithoutItsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLoad(t, `SELECT @job_record_id::uuid::text::integer, @records::jsonb`))
	id := w.Submit().ID.String()
	lease := w.Claim()
	_, spans := storetest.Traced(t, func(ctx context.Context) { require.Error(t, w.Store.Execute(ctx, lease)) })
	failed := spans[1] // behind the beginning
	require.Equal(t, "sql load", failed.Name)
	require.Equal(t, sdktrace.Status{Code: codes.Error}, failed.Status)
	require.Contains(t, fmt.Sprint(failed.Attributes), "22P02")
	require.NotContains(t, fmt.Sprintf("%+v", spans), id)
}

func TestAbsentJobIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, spans := storetest.Traced(t, func(ctx context.Context) {
		_, err := w.Store.Cancel(ctx, w.Owner, uuid.New(), [32]byte{}, job.CancellationByOwner)
		require.ErrorIs(t, err, job.ErrNotFound)
	})
	for _, s := range spans {
		require.Equal(t, codes.Unset, s.Status.Code, s.Name)
	}
}

// traceOf reads the trace context that is kept with a job, or "".
func (w *world) traceOf(id uuid.UUID) (parent string) {
	w.Helper()
	row := w.Pool.QueryRow(w.Context(), `SELECT coalesce(trace_parent, '') FROM etl_job_records WHERE job_record_id = $1`, id)
	require.NoError(w, row.Scan(&parent))
	return parent
}

// tracedJobs makes jobs in traced requests: a submission, and the replay of a cancelled job.
func (w *world) tracedJobs() map[uuid.UUID]string {
	w.Helper()
	source := w.CancelledJob()
	parents := map[uuid.UUID]string{}
	for _, create := range []func(ctx context.Context) (job.Accepted, error){
		func(ctx context.Context) (job.Accepted, error) {
			return w.Service.Submit(ctx, w.Owner, storetest.Key(w, uuid.NewString()), storetest.Batch)
		},
		func(ctx context.Context) (job.Accepted, error) {
			return w.Service.Replay(ctx, w.Owner, source.ID.String(), storetest.Key(w, uuid.NewString()), storetest.Batch)
		},
	} {
		var id uuid.UUID
		root, _ := storetest.Traced(w.T, func(ctx context.Context) {
			made, err := create(ctx)
			require.NoError(w, err)
			id = made.Job.ID
		})
		parents[id] = fmt.Sprintf("00-%s-%s-01", root.SpanContext.TraceID(), root.SpanContext.SpanID())
	}
	return parents
}

func TestTraceOfTheRequestComesWithEachLeaseAndGoesWithThePayload(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, worker.Lease) error{
		"succeeded": func(w *world, l worker.Lease) error { return w.Store.Execute(t.Context(), l) },
		"failed": func(w *world, l worker.Lease) error {
			return w.Store.Fail(t.Context(), l, worker.Failure{Code: job.FailureTarget})
		},
		"cancelled": func(w *world, l worker.Lease) error {
			_, err := w.Store.Cancel(t.Context(), w.Owner, l.JobID, job.Hash{}, job.CancellationByOwner)
			return err
		},
		"exhausted": func(w *world, l worker.Lease) error {
			w.MustExec(`UPDATE etl_job_records SET attempt_count = $1, fault_count = $1 - 1 WHERE job_record_id = $2`, storetest.MaxAttempts, l.JobID)
			w.Expire(l.JobID)
			delay := "UPDATE etl_job_records SET next_attempt_at = next_attempt_at + $1::interval WHERE job_status = 'PENDING'"
			w.MustExec(delay, time.Hour) // in a batch of one, chance would decide between the two
			w.ClaimAll(1)
			w.MustExec(delay, -time.Hour)
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
				lease := w.Claim()
				parent := w.traceOf(lease.JobID)
				require.Equal(t, parent, lease.TraceParent)
				require.NotEmpty(t, parent)
				require.NoError(t, w.Store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried}))
				lease = w.Claim()
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
		made, err := w.Service.Submit(ctx, w.Owner, storetest.Key(t, uuid.NewString()), storetest.Batch)
		require.NoError(t, err)
		require.Empty(t, w.traceOf(made.Job.ID))
	}
}

// A process that was started before the column was there ends jobs without knowing of it.
func TestTraceGoesWithThePayloadThoughTheStatementDoesNotNameIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id := range w.tracedJobs() {
		w.MustExec(`UPDATE etl_job_records SET job_status = 'FAILED', failure_code = 'etl_internal_error', request_payload = NULL
			WHERE job_record_id = $1`, id)
		require.Empty(t, w.traceOf(id))
	}
}
