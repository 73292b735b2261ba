package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// answer sends a request for a secret id through Observe, to a route that answers with a problem.
func answer(t *testing.T, m *Metrics, log *slog.Logger) *httptest.ResponseRecorder {
	t.Helper()
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.InfoContext(r.Context(), "inside")
		NoteProblem(r.Context(), job.CodeJobNotFound)
		w.WriteHeader(http.StatusNotFound)
	})
	recorder := httptest.NewRecorder()
	m.Observe(log, next).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/api/etl/jobs/secret?secret", nil))
	return recorder
}

func TestRequestIsCountedByRouteStatusAndProblem(t *testing.T) {
	t.Parallel()
	m := NewMetrics(jobRoute)
	answer(t, m, slog.New(slog.DiscardHandler))

	counted := m.requests.WithLabelValues(jobRoute, "GET", "4xx", "etl_job_not_found")
	require.InDelta(t, 1, testutil.ToFloat64(counted), 0)
	histogram := family(t, m, "fencepost_http_request_seconds").GetMetric()[0].GetHistogram()
	require.EqualValues(t, 1, histogram.GetSampleCount())
}

func TestRequestLogsOneDebugLineWithItsRouteAndNoPath(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	recorder := answer(t, NewMetrics(jobRoute), NewLogger(&lines, "json", "debug"))

	require.NotContains(t, lines.String(), "secret")
	decoder := json.NewDecoder(&lines)
	var inside, answered map[string]any
	require.NoError(t, decoder.Decode(&inside))
	require.NoError(t, decoder.Decode(&answered))
	require.False(t, decoder.More())
	require.Equal(t, "request answered", answered["msg"])
	require.Equal(t, "DEBUG", answered["level"])
	require.Equal(t, jobRoute, answered["route"])
	require.Equal(t, "etl_job_not_found", answered["code"])
	require.NotEmpty(t, recorder.Header().Get("X-Request-Id"))
	require.Equal(t, recorder.Header().Get("X-Request-Id"), answered["request_id"])
	require.Equal(t, answered["request_id"], inside["request_id"])
}

func TestEachRequestHasItsOwnID(t *testing.T) {
	t.Parallel()
	m, log := NewMetrics(jobRoute), slog.New(slog.DiscardHandler)
	first, second := answer(t, m, log), answer(t, m, log)
	require.NotEqual(t, first.Header().Get("X-Request-Id"), second.Header().Get("X-Request-Id"))
}

func TestPathThatIsNoRouteIsOther(t *testing.T) {
	t.Parallel()
	known := newRoutes([]string{jobRoute, "/graphql"})
	for path, want := range map[string]string{
		"/graphql":               "/graphql",
		"/api/etl/jobs/secret":   jobRoute,
		"/api/etl/jobs/secret/x": other,
		"/":                      other,
	} {
		require.Equal(t, want, known.of(httptest.NewRequest(http.MethodGet, path, nil)), path)
	}
}

func TestProblemOutsideOfARequestIsIgnored(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() { NoteProblem(context.Background(), job.CodeJobNotFound) })
}
