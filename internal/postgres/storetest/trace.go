package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// Traced runs something inside of a span, and returns that and the spans of the product.
func Traced(t testing.TB, run func(ctx context.Context)) (root tracetest.SpanStub, spans tracetest.SpanStubs) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	ctx, span := provider.Tracer("test").Start(t.Context(), "root")
	run(ctx)
	span.End()
	for _, s := range exporter.GetSpans() {
		require.Equal(t, span.SpanContext().TraceID(), s.SpanContext.TraceID())
		if s.InstrumentationScope.Name == "test" {
			root = s
			continue
		}
		spans = append(spans, s)
	}
	return root, spans
}
