package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
)

// beginSpan begins a span inside of the one in ctx. Where there is none, it records nothing: what nobody asked for, such as the
// claims of an idle worker, leaves no traces.
func beginSpan(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer("fencepost/internal/postgres/db").Start(ctx, name, options...)
}

// TraceParent is the trace context of the call (W3C Trace Context, "traceparent"), or "" when the call is not traced. A context that a
// client sent along, with nothing recorded here, is none.
func TraceParent(ctx context.Context) string {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || !span.SpanContext().IsSampled() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-01", span.SpanContext().TraceID(), span.SpanContext().SpanID())
}

// endSpan ends a span with what it met: for an error of the server its SQLSTATE, and never a text.
func endSpan(span trace.Span, err error) {
	if err != nil && !errors.Is(err, job.ErrNotFound) {
		span.SetStatus(codes.Error, "")
	}
	if state := SQLState(err); state != "" {
		span.SetAttributes(attribute.String("db.response.status_code", state))
	}
	span.End()
}

// statementTracer traces each statement by its name. A library would add the SQL, or the texts of errors, which quote data.
type statementTracer struct{}

var (
	_ pgx.QueryTracer = statementTracer{}
	_ pgx.BatchTracer = statementTracer{}
)

func beginStatement(ctx context.Context, sql string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return beginSpan(ctx, "sql "+statements.NameOf(sql), append(options, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.system.name", "postgresql")))...)
}

// TraceQueryStart implements [pgx.QueryTracer].
func (statementTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	ctx, _ = beginStatement(ctx, data.SQL)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (statementTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	endSpan(trace.SpanFromContext(ctx), data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer]. The statements of a batch are one round trip, but each has a span.
func (statementTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer]. It is called once a statement has answered. What only sets a parameter for the others
// has no span: there are as many of those as of writes, and they tell nothing.
func (statementTracer) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if data.SQL == set.SQL && data.Err == nil {
		return
	}
	_, span := beginStatement(ctx, data.SQL, trace.WithTimestamp(data.ReadStartTime))
	endSpan(span, data.Err)
}

// TraceBatchEnd implements [pgx.BatchTracer].
func (statementTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
