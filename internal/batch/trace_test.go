package batch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"fencepost/internal/batch"
)

// recorder records spans.
type recorder struct {
	*tracetest.InMemoryExporter
	tracer trace.Tracer
}

func newRecorder() recorder {
	exporter := tracetest.NewInMemoryExporter()
	return recorder{exporter, sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")}
}

// request is a traced request.
func (r recorder) request(t *testing.T) (context.Context, trace.SpanContext) {
	t.Helper()
	ctx, span := r.tracer.Start(t.Context(), "request")
	return ctx, span.SpanContext()
}

// named are the spans with a name, in the order in which they ended.
func (r recorder) named(name string) (spans tracetest.SpanStubs) {
	for _, s := range r.GetSpans() {
		if s.Name == name {
			spans = append(spans, s)
		}
	}
	return spans
}

func TestEachCallHasASpanAndASharedSendingOneWithLinksToThem(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		r := newRecorder()
		one, first := r.request(t)
		two, second := r.request(t)
		s.call(t.Context(), 0)
		s.call(t.Context(), 1) // is not traced
		s.call(one, 2)
		s.call(two, 3)
		s.answer(nil)
		s.answer(nil)

		calls, shared := r.named("double"), r.named("shared double")
		require.Len(t, calls, 2)
		require.Len(t, shared, 1)
		var links []trace.SpanContext
		for _, link := range shared[0].Links {
			links = append(links, link.SpanContext)
		}
		for _, c := range calls {
			require.Equal(t, []attribute.KeyValue{attribute.Int("fencepost.shared_calls", 3)}, c.Attributes)
			require.Contains(t, links, c.SpanContext)
			require.Contains(t, []trace.SpanID{first.SpanID(), second.SpanID()}, c.Parent.SpanID())
		}
		require.Len(t, links, 2)
		require.Equal(t, first.TraceID(), shared[0].SpanContext.TraceID(), "the trace of the first that is traced")
		require.Equal(t, links[0], shared[0].Parent.WithRemote(false))
	})
}

func TestCallThatIsGivenUpIsNotLinked(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		r := newRecorder()
		one, _ := r.request(t)
		two, second := r.request(t)
		leaving, leave := context.WithCancel(one)
		s.call(t.Context(), 0)
		s.call(leaving, 2)
		s.call(two, 4)
		leave()
		synctest.Wait()
		s.answer(nil)
		s.answer(nil)
		given, shared := r.named("double")[0], r.named("shared double")[0]
		require.Equal(t, codes.Error, given.Status.Code)
		require.Len(t, shared.Links, 1)
		require.Equal(t, second.TraceID(), shared.SpanContext.TraceID())
	})
}

func TestFailureIsToldByTheSpansWithoutItsText(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		r := newRecorder()
		ctx, _ := r.request(t)
		s.call(ctx, 2)
		s.answer(errors.New("secret"))
		for _, name := range []string{"double", "shared double"} {
			require.Equal(t, sdktrace.Status{Code: codes.Error}, r.named(name)[0].Status)
		}
	})
}

func TestNothingIsRecordedWhereNobodyIsTraced(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sdktrace.NeverSample()))
	unsampled, _ := provider.Tracer("test").Start(t.Context(), "request")
	for _, ctx := range []context.Context{t.Context(), unsampled} {
		recording := true
		g := &batch.Gatherer[int, int]{Send: func(ctx context.Context, _ []int) ([]batch.Placed[int], error) {
			recording = trace.SpanFromContext(ctx).IsRecording()
			return nil, nil
		}}
		_, err := g.Do(ctx, 1)
		require.NoError(t, err)
		require.False(t, recording)
	}
	require.Empty(t, exporter.GetSpans())
}
