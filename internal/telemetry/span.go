package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"fencepost/internal/worker"
)

// TraceWith makes m trace requests, operations and executions as well. What they call in turn, such as the database, finds
// their spans in the context. Call it before anything is observed.
func (m *Metrics) TraceWith(provider trace.TracerProvider) { m.tracer = provider.Tracer("fencepost") }

// beginRequest begins the span of a request, inside of the client's own when it sent one (W3C Trace Context). Of what the
// client sent, only the ids of its span are kept: its tracestate and its baggage could hold anything. The library for this
// would also keep the path, the query and the address.
func (m *Metrics) beginRequest(r *http.Request, route string) (context.Context, trace.Span) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	parent := trace.SpanContextFromContext(ctx).WithTraceState(trace.TraceState{})
	method := m.methods.constrain(r.Method)
	return m.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, parent), method+" "+route,
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
}

func endRequest(span trace.Span, status int, code string) {
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	endWithCode(span, code)
}

// beginOperation begins the span of a GraphQL operation, whose name the client has chosen and which it does not tell.
func (m *Metrics) beginOperation(ctx context.Context, kind string) (context.Context, trace.Span) {
	return m.tracer.Start(ctx, "graphql "+kind, trace.WithAttributes(attribute.String("graphql.operation.type", kind)))
}

// endWithCode ends a span with the problem that was met, or with none.
func endWithCode(span trace.Span, code string) {
	if code != "" {
		span.SetAttributes(attribute.String("fencepost.code", code))
	}
	span.End()
}

// beginExecution begins the span of a job's execution. It is a trace of its own, since it may come long after the request that made
// the job and more than once, and has a link to that request's span if there is one.
func (m *Metrics) beginExecution(ctx context.Context, traceParent string) (context.Context, trace.Span) {
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	request := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceParent})
	if origin := trace.SpanContextFromContext(request); origin.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: origin}))
	}
	return m.tracer.Start(ctx, "execution", options...)
}

func endExecution(span trace.Span, outcome worker.Outcome) {
	span.SetAttributes(attribute.String("fencepost.outcome", string(outcome)))
	if outcome != worker.OutcomeSucceeded && outcome != worker.OutcomeCancelled {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
