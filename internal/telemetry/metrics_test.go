package telemetry

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/ratelimit"
	"fencepost/internal/worker"
)

const jobRoute = "/api/etl/jobs/{id}"

func TestObserversCountWhatTheyAreTold(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	m.JobEnded(job.StatusCancelled)
	m.IdempotentReplay(job.OperationReplay)
	m.JobCreated(0)
	m.JobCreated(7)
	m.JobCreated(8)
	m.JobFailed(worker.Failure{Code: job.FailureIntegrity, SQLState: "22P02"})
	m.Outcome(worker.OutcomeStale)

	require.InDelta(t, 1, testutil.ToFloat64(m.jobsEnded.WithLabelValues("CANCELLED")), 0)
	require.InDelta(t, 0, testutil.ToFloat64(m.jobsEnded.WithLabelValues("SUCCEEDED")), 0)
	require.InDelta(t, 1, testutil.ToFloat64(m.idempotentReplays.WithLabelValues("replay")), 0)
	require.InDelta(t, 1, testutil.ToFloat64(m.jobsCreated.WithLabelValues("root")), 0)
	require.InDelta(t, 2, testutil.ToFloat64(m.jobsCreated.WithLabelValues("replay")), 0)
	require.InDelta(t, 1, testutil.ToFloat64(m.failures.WithLabelValues("etl_job_integrity_failure")), 0)
	require.InDelta(t, 1, testutil.ToFloat64(m.outcomes.WithLabelValues("stale")), 0)
}

func TestHistogramsObserveSecondsAndCounts(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	m.JobCreated(7)
	m.QueueWait(250 * time.Millisecond)
	m.ClaimBatch(12)

	for name, want := range map[string]float64{
		"fencepost_lineage_generation":        7,
		"fencepost_worker_queue_wait_seconds": .25,
		"fencepost_worker_claim_batch_jobs":   12,
	} {
		histogram := family(t, m, name).GetMetric()[0].GetHistogram()
		require.EqualValues(t, 1, histogram.GetSampleCount(), name)
		require.InDelta(t, want, histogram.GetSampleSum(), 0, name)
	}
}

func TestExecutionsAndOperationsAreTimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics()
		_, ended := m.ExecutionBegan(t.Context(), "")
		_, answered := m.GraphQL("BUSY").OperationBegan(t.Context(), "query")
		advance(1500 * time.Millisecond)
		ended(worker.OutcomeSucceeded)
		answered("BUSY")
		execution := family(t, m, "fencepost_worker_execution_seconds").GetMetric()[0].GetHistogram()
		require.InDelta(t, 1.5, execution.GetSampleSum(), 0)
		for _, operation := range family(t, m, "fencepost_graphql_operation_seconds").GetMetric() {
			if operation.GetLabel()[0].GetValue() == "BUSY" {
				require.InDelta(t, 1.5, operation.GetHistogram().GetSampleSum(), 0)
				return
			}
		}
		require.Fail(t, "the operation was not counted by its code")
	})
}

func TestRefusalsOfTheLimiterAreCounted(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	l := m.CountRefusals(ratelimit.New(ratelimit.Rates{Replay: 1}, func() time.Time { return time.Unix(0, 0) }))
	owner := job.OwnerOf("ann")
	for range 3 {
		l.Allow(owner, job.OperationReplay)
		l.Allow(owner, job.OperationSubmit)
	}
	wait, ok := l.Allow(owner, job.OperationReplay)
	require.False(t, ok)
	require.Equal(t, time.Second, wait)
	require.InDelta(t, 3, testutil.ToFloat64(m.rateLimited.WithLabelValues("replay")), 0)
	require.InDelta(t, 0, testutil.ToFloat64(m.rateLimited.WithLabelValues("submit")), 0)
}

// Every label value in the registry must be on this list, whatever was observed. A new label must be added here, with all
// of its values.
func TestEveryLabelIsFinite(t *testing.T) {
	t.Parallel()
	codes := []string{
		"", other, "etl_target_unavailable", "etl_target_failure", "etl_job_integrity_failure",
		"etl_worker_attempts_exhausted", "BAD_USER_INPUT",
	}
	for _, d := range job.Definitions() {
		codes = append(codes, string(d.Code))
	}
	statuses := []string{"PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "2xx", "3xx", "4xx", "5xx", other}
	allowed := map[string][]string{
		"status":    statuses,
		"kind":      {"root", "replay", "query", "mutation", "subscription", "none", other},
		"state":     {"acquired", "idle"},
		"operation": {"submit", "cancel", "replay", other},
		"outcome": {
			"idle", "claimed", "succeeded", "retried", "returned", "failed", "stale", "cancelled", "abandoned", other,
		},
		"route":  {jobRoute, other},
		"method": {"GET", "HEAD", "POST", other},
		"code":   codes,
		"class":  append([]string{other}, stateClasses...),
		"load":   {"default"},
	}
	m := NewMetrics(jobRoute)
	watch(m)
	observeHostile(m)

	families, err := m.registry.Gather()
	require.NoError(t, err)
	hostile := 0
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if strings.HasSuffix(f.GetName(), "_info") {
					continue // constant for the life of the process
				}
				require.Contains(t, allowed[l.GetName()], l.GetValue(), "%s{%s}", f.GetName(), l.GetName())
				if l.GetValue() == other {
					hostile++
				}
			}
		}
	}
	require.Positive(t, hostile, "the hostile values were observed")
}

func observeHostile(m *Metrics) {
	_, end := m.GraphQL("BAD_USER_INPUT").OperationBegan(context.Background(), "x")
	end("x")
	m.JobEnded("x' OR 1=1")
	m.JobFailed(worker.Failure{Code: "x", SQLState: "x'"})
	m.IdempotentReplay("x")
	m.Outcome("x")
	hostile := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		NoteProblem(r.Context(), "x")
		w.WriteHeader(999)
	})
	request := httptest.NewRequest("BREW", "/x", nil)
	m.Observe(slog.New(slog.DiscardHandler), hostile).ServeHTTP(httptest.NewRecorder(), request)
}

func TestMetricNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	m := NewMetrics(jobRoute)
	watch(m)
	observeHostile(m)
	problems, err := testutil.GatherAndLint(m.registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestHandlerServesEverySeriesFromTheStart(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	m.BuiltFrom("v1.2.3")
	server := httptest.NewServer(m.Handler())
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	for _, line := range []string{
		`fencepost_jobs_ended_total{status="CANCELLED"} 0`,
		`fencepost_worker_outcomes_total{outcome="abandoned"} 0`,
		`fencepost_build_info{version="v1.2.3"} 1`,
		`go_build_info{`,
		`process_start_time_seconds `,
	} {
		require.Contains(t, string(body), line)
	}
}

func family(t *testing.T, m *Metrics, name string) *dto.MetricFamily {
	t.Helper()
	families, err := m.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f
		}
	}
	require.Fail(t, "no metric", name)
	return nil
}
