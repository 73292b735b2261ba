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

	"fencepost/internal/job"
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
		"[sql set sql submit submit]": func(ctx context.Context) error {
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
