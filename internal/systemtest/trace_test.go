package systemtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// collector is an exporter that keeps what it gets.
type collector struct {
	mu    sync.Mutex
	spans []sdktrace.ReadOnlySpan
}

func (c *collector) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = append(c.spans, spans...)
	return nil
}

func (c *collector) Shutdown(context.Context) error { return nil }

// paths are the spans, each with the ones that it is in.
func (c *collector) paths() []string {
	names, parents := map[trace.SpanID]string{}, map[trace.SpanID]trace.SpanID{}
	for _, s := range c.spans {
		names[s.SpanContext().SpanID()], parents[s.SpanContext().SpanID()] = s.Name(), s.Parent().SpanID()
	}
	var paths []string
	for _, s := range c.spans {
		path := s.Name()
		for id := s.Parent().SpanID(); names[id] != ""; id = parents[id] {
			path = names[id] + " > " + path
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// origins are the names of the spans that those with a name have links to.
func (c *collector) origins(name string) []string {
	var origins []string
	for _, s := range c.spans {
		for _, link := range s.Links() {
			for _, origin := range c.spans {
				if s.Name() == name && origin.SpanContext().Equal(link.SpanContext.WithRemote(false)) {
					origins = append(origins, origin.Name())
				}
			}
		}
	}
	return origins
}

// It reads the process's environment, so that no other test may run beside it.
func TestTracesLeadFromTheRequestToEachStatementAndTellNothingSecret(t *testing.T) {
	spans := &collector{}
	autoexport.RegisterSpanExporter("collector", func(context.Context) (sdktrace.SpanExporter, error) { return spans, nil })
	t.Setenv("OTEL_TRACES_EXPORTER", "collector")
	s := startMarked(t)
	done := s.submit(`{"id":"canary","number":2,"seconds":0}`, "SUCCEEDED")
	s.submit(`{"id":"canary","number":"canary","seconds":0}`, "FAILED")
	s.post(done+"/cancellation", "stop", "")
	s.post("/graphql", "", `{"query":"query canary {canary: jobs {nodes {id}}}"}`)
	s.post("/graphql", "", `{"query":"{canary}"}`)
	s.post("/canary?canary", "", "")
	require.NoError(t, s.End())

	require.Equal(t, []string{
		"POST /api/etl/jobs",
		"POST /api/etl/jobs > submit",
		"POST /api/etl/jobs > submit > shared submit",
		"POST /api/etl/jobs > submit > shared submit > sql submit",
		"POST /api/etl/jobs/{id}/cancellation",
		"POST /api/etl/jobs/{id}/cancellation > cancel",
		"POST /api/etl/jobs/{id}/cancellation > cancel > shared cancel",
		"POST /api/etl/jobs/{id}/cancellation > cancel > shared cancel > sql cancel",
		"POST /api/etl/jobs/{id}/cancellation > cancel > sql cancel waiting",
		"POST /api/etl/jobs/{id}/cancellation > cancel > sql find cancelled",
		"POST /graphql",
		"POST /graphql > graphql none",
		"POST /graphql > graphql query",
		"POST /graphql > graphql query > list",
		"POST /graphql > graphql query > list > sql list",
		"POST other",
		"execution",
		"execution > fail",
		"execution > fail > sql fail",
		"execution > sql begin",
		"execution > sql check constraints now",
		"execution > sql commit",
		"execution > sql load",
		"execution > sql rollback",
		"execution > sql succeed",
	}, spans.paths())
	require.Equal(t, []string{"POST /api/etl/jobs", "POST /api/etl/jobs"}, spans.origins("execution"))
	everything := fmt.Sprintf("%+v", tracetest.SpanStubsFromReadOnlySpans(spans.spans))
	for _, secret := range append(s.secrets, s.jobs...) {
		require.NotContains(t, everything, secret)
	}
}
