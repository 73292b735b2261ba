package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"fencepost/internal/worker"
)

// variables are all that decide whether traces are sent.
var variables = []string{
	"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SDK_DISABLED",
}

func TestTracesAreOffUnlessTheEnvironmentAsks(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
	for _, c := range []struct {
		asks   bool
		values map[string]string
	}{
		{false, nil},
		{false, map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		{false, map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "TRUE"}},
		{true, map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "false"}},
		{true, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		{true, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}},
	} {
		for _, name := range variables {
			t.Setenv(name, c.values[name])
		}
		tracing, err := StartTracing(t.Context(), "v1", slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		_, span := tracing.Provider.Tracer("test").Start(t.Context(), "x")
		require.Equal(t, c.asks, span.IsRecording(), "%v", c.values)
		tracing.Stop()
	}
}

func TestVariablesThatMakeNoSenseStopTheStart(t *testing.T) {
	t.Setenv("OTEL_SDK_DISABLED", "false")
	for name, values := range map[string]map[string]string{
		"OTEL_TRACES_EXPORTER":     {"OTEL_TRACES_EXPORTER": "unknown", "OTEL_RESOURCE_ATTRIBUTES": ""},
		"OTEL_RESOURCE_ATTRIBUTES": {"OTEL_TRACES_EXPORTER": "console", "OTEL_RESOURCE_ATTRIBUTES": "no pair"},
	} {
		for variable, value := range values {
			t.Setenv(variable, value)
		}
		_, err := StartTracing(t.Context(), "v1", slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, name)
	}
}

// failing is an exporter that nobody answers.
type failing struct{}

func (failing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("canary")
}

func (failing) Shutdown(context.Context) error { return errors.New("canary") }

func TestTracesThatAreNotTakenAreLoggedAsACode(t *testing.T) {
	autoexport.RegisterSpanExporter("failing", func(context.Context) (sdktrace.SpanExporter, error) { return failing{}, nil })
	t.Setenv("OTEL_TRACES_EXPORTER", "failing")
	var lines bytes.Buffer
	tracing, err := StartTracing(t.Context(), "v1", NewLogger(&lines, "text", "info"))
	require.NoError(t, err)
	_, span := tracing.Provider.Tracer("test").Start(t.Context(), "x")
	span.End()
	tracing.Stop()
	require.Contains(t, lines.String(), "code=traces_not_exported")
	require.NotContains(t, lines.String(), "canary")
}

// spansOf observes with traces, and returns those.
func spansOf(observe func(m *Metrics)) tracetest.SpanStubs {
	exporter := tracetest.NewInMemoryExporter()
	m := NewMetrics(jobRoute)
	m.TraceWith(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
	observe(m)
	return exporter.GetSpans()
}

func TestSpanOfARequestKeepsTheClientsTraceAndNothingElseOfIt(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	spans := spansOf(func(m *Metrics) {
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			NoteProblem(r.Context(), "canary")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		request := httptest.NewRequest("CANARY", "/api/etl/jobs/canary?canary", nil)
		request.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
		request.Header.Set("Tracestate", "canary=canary")
		request.Header.Set("Baggage", "canary=canary")
		request.Header.Set("User-Agent", "canary")
		m.Observe(slog.New(slog.DiscardHandler), next).ServeHTTP(httptest.NewRecorder(), request)
	})
	require.Len(t, spans, 1)
	span := spans[0]
	require.Equal(t, "other /api/etl/jobs/{id}", span.Name)
	require.Equal(t, trace, span.SpanContext.TraceID().String())
	require.Equal(t, parent, span.Parent.SpanID().String())
	require.Empty(t, span.SpanContext.TraceState().String())
	require.Equal(t, sdktrace.Status{Code: codes.Error}, span.Status)
	require.Equal(t, []attribute.KeyValue{
		attribute.String("http.request.method", "other"),
		attribute.String("http.route", jobRoute),
		attribute.Int("http.response.status_code", 503),
		attribute.String("fencepost.code", "other"),
	}, span.Attributes)
}

func TestSpansOfOperationsAndExecutionsTellHowTheyEnded(t *testing.T) {
	t.Parallel()
	spans := spansOf(func(m *Metrics) {
		g := m.GraphQL("TIMEOUT")
		_, end := g.OperationBegan(t.Context(), "query")
		end("TIMEOUT")
		_, end = g.OperationBegan(t.Context(), "canary")
		end("")
		for _, outcome := range []worker.Outcome{worker.OutcomeSucceeded, worker.OutcomeFailed} {
			_, end := m.ExecutionBegan(t.Context(), "")
			end(outcome)
		}
	})
	require.Len(t, spans, 4)
	require.Equal(t, "graphql query", spans[0].Name)
	require.Contains(t, spans[0].Attributes, attribute.String("fencepost.code", "TIMEOUT"))
	require.Equal(t, "graphql other", spans[1].Name)
	require.Equal(t, []attribute.KeyValue{attribute.String("graphql.operation.type", "other")}, spans[1].Attributes)
	for i, want := range []sdktrace.Status{{Code: codes.Unset}, {Code: codes.Error}} {
		require.Equal(t, "execution", spans[2+i].Name)
		require.Equal(t, want, spans[2+i].Status)
	}
	require.Equal(t, []attribute.KeyValue{attribute.String("fencepost.outcome", "failed")}, spans[3].Attributes)
}

func TestExecutionIsATraceOfItsOwnWithALinkToTheRequestThatMadeTheJob(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	spans := spansOf(func(m *Metrics) {
		for _, traceParent := range []string{"00-" + trace + "-" + parent + "-01", "", "canary", "00-" + strings.Repeat("0", 32) + "-" + parent + "-01"} {
			_, end := m.ExecutionBegan(t.Context(), traceParent)
			end(worker.OutcomeSucceeded)
		}
	})
	require.Len(t, spans, 4)
	require.Len(t, spans[0].Links, 1)
	require.Equal(t, trace, spans[0].Links[0].SpanContext.TraceID().String())
	require.Equal(t, parent, spans[0].Links[0].SpanContext.SpanID().String())
	require.Empty(t, spans[0].Links[0].Attributes)
	require.NotEqual(t, trace, spans[0].SpanContext.TraceID().String())
	for _, span := range spans[1:] {
		require.Empty(t, span.Links)
	}
}
