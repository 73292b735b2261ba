package batch

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// sharers is the attribute of a call's span that counts the calls which were sent together, itself included.
const sharers = "fencepost.shared_calls"

// begin begins the span of one call, inside of the one in ctx. Where there is none, it records nothing.
func begin(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer("fencepost/internal/batch").Start(ctx, name, options...)
}

// beginShared begins the span of what is sent for several calls. It belongs to the trace of the first call that is recorded, and has
// links to all that are (OpenTelemetry, "Links between spans"). Where none is, it records nothing.
func beginShared(calls []trace.Span, verb string) (context.Context, trace.Span) {
	var links []trace.Link
	first := trace.SpanFromContext(context.Background()) // which records nothing
	for _, span := range calls {
		if !span.IsRecording() {
			continue
		}
		span.SetAttributes(attribute.Int(sharers, len(calls)))
		if len(links) == 0 {
			first = span
		}
		links = append(links, trace.Link{SpanContext: span.SpanContext()})
	}
	return begin(trace.ContextWithSpan(context.Background(), first), "shared "+verb, trace.WithLinks(links...))
}

// end ends a span. What went wrong is told by the spans of the statements.
func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
