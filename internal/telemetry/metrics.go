package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// The bounds of the histograms: durations in seconds, leases of one claim, generations of a lineage.
var (
	requestSeconds   = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	executionSeconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	operationSeconds = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 600, 3600}
	queueSeconds     = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 7200, 86400}
	claimSizes       = []float64{1, 2, 5, 10, 20, 50, 100, 200}
	generations      = []float64{0, 1, 2, 5, 10, 20, 50, job.MaxGeneration}
)

// Metrics counts what happens in this process, and traces it once [Metrics.TraceWith] was called. It observes the service and the workers ([job.Observer] and
// [worker.Observer]), and its methods may be called from many goroutines.
type Metrics struct {
	registry          *prometheus.Registry
	tracer            trace.Tracer
	routes            routes
	methods, problems label
	jobsEnded         *prometheus.CounterVec
	jobsCreated       *prometheus.CounterVec
	generation        prometheus.Histogram
	failures          *prometheus.CounterVec
	failureClasses    *prometheus.CounterVec
	loadOpen          *prometheus.GaugeVec
	idempotentReplays *prometheus.CounterVec
	rateLimited       *prometheus.CounterVec
	outcomes          *prometheus.CounterVec
	execution         prometheus.Histogram
	queueWait         prometheus.Histogram
	claimBatch        prometheus.Histogram
	requests          *prometheus.CounterVec
	requestDuration   *prometheus.HistogramVec
}

var (
	_ job.Observer    = (*Metrics)(nil)
	_ worker.Observer = (*Metrics)(nil)
)

// NewMetrics makes the metrics of a process that serves the given routes, each one a path pattern as [http.ServeMux] takes
// it; requests for anything else are counted together as "other".
func NewMetrics(patterns ...string) *Metrics {
	route := labelOf("route", patterns...)
	status := labelOf("status", "2xx", "3xx", "4xx", "5xx")
	methods := labelOf("method", http.MethodGet, http.MethodHead, http.MethodPost)
	operation := labelOf("operation", job.Operations...)
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		tracer:   noop.Tracer{},
		routes:   newRoutes(patterns),
		methods:  methods,
		problems: problemCodes(),
		jobsEnded: newCounter("fencepost_jobs_ended_total", "Jobs that this process brought to a terminal status.",
			labelOf("status", job.StatusSucceeded, job.StatusFailed, job.StatusCancelled)),
		jobsCreated: newCounter("fencepost_jobs_created_total", "Jobs accepted: roots are submitted, replays derived.",
			labelOf("kind", "root", "replay")),
		generation: newHistogram("fencepost_lineage_generation", "Generation of each new job; 0 is a root.", generations),
		failures: newCounter("fencepost_job_failures_total", "Jobs that this process made FAILED, by the reason.",
			labelOf("code", job.FailureCodes...)),
		failureClasses: newCounter("fencepost_job_failures_by_sql_state_total",
			"Jobs that this process made FAILED, by the class of the code of the error in the database.", labelOf("class", stateClasses...)),
		loadOpen: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fencepost_load_open", Help: "1 while jobs of the load are run by this process, 0 while it is closed.",
		}, []string{"load"}),
		idempotentReplays: newCounter("fencepost_idempotent_replays_total",
			"Writes that were answered from an earlier one under the same key.",
			operation),
		rateLimited: newCounter("fencepost_rate_limited_total", "Writes refused because their owner made too many.", operation),
		outcomes: newCounter("fencepost_worker_outcomes_total", "Claims and executions by how they went.",
			labelOf("outcome", worker.Outcomes...)),
		execution: newHistogram("fencepost_worker_execution_seconds", "Duration of one execution.", executionSeconds),
		queueWait: newHistogram("fencepost_worker_queue_wait_seconds",
			"Time between the moment that a job was due and its claim.", queueSeconds),
		claimBatch: newHistogram("fencepost_worker_claim_batch_jobs", "Jobs leased by one claim.", claimSizes),
		requests: newCounters("fencepost_http_requests_total", "Requests answered; code is the problem, or empty.",
			route, methods, status, problemCodes()),
		requestDuration: newHistograms("fencepost_http_request_seconds", "Duration of one request.", requestSeconds,
			route, status),
	}
	m.registry.MustRegister(
		m.jobsEnded, m.jobsCreated, m.generation, m.failures, m.failureClasses, m.loadOpen, m.idempotentReplays, m.rateLimited, m.outcomes, m.execution,
		m.queueWait, m.claimBatch, m.requests, m.requestDuration,
		collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// BuiltFrom adds the version of the program. Call it once.
func (m *Metrics) BuiltFrom(version string) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "fencepost_build_info",
		Help:        "The version of the program; the value is 1.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 }))
}

// problemCodes is the label of a request's problem; a request without one has the empty value.
func problemCodes() label {
	codes := []job.Code{""}
	for _, d := range job.Definitions() {
		codes = append(codes, d.Code)
	}
	return labelOf("code", codes...)
}

// Handler serves the metrics in the formats of Prometheus and OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, EnableOpenMetrics: true})
}

// JobEnded counts a job that this process made terminal.
func (m *Metrics) JobEnded(status job.Status) { m.jobsEnded.WithLabelValues(string(status)).Inc() }

// IdempotentReplay counts a write that was answered from an earlier one.
func (m *Metrics) IdempotentReplay(op job.Operation) {
	m.idempotentReplays.WithLabelValues(string(op)).Inc()
}

// JobCreated counts a new job and observes its generation.
func (m *Metrics) JobCreated(generation int) {
	kind := "replay"
	if generation == 0 {
		kind = "root"
	}
	m.jobsCreated.WithLabelValues(kind).Inc()
	m.generation.Observe(float64(generation))
}

// Outcome counts how a claim or an execution went.
func (m *Metrics) Outcome(outcome worker.Outcome) { m.outcomes.WithLabelValues(string(outcome)).Inc() }

// JobFailed counts why a job failed.
func (m *Metrics) JobFailed(f worker.Failure) {
	m.failures.WithLabelValues(string(f.Code)).Inc()
	m.failureClasses.WithLabelValues(f.SQLState[:min(len(f.SQLState), 2)]).Inc()
}

// LoadOpen tells whether jobs of a load are run by this process.
func (m *Metrics) LoadOpen(name string, open bool) {
	value := 0.0
	if open {
		value = 1
	}
	m.loadOpen.WithLabelValues(name).Set(value)
}

// stateClasses are the classes of SQLSTATE (PostgreSQL documentation, appendix A) that failures are counted by. One that did not come
// from the database has none.
var stateClasses = []string{
	"", "08", "0A", "21", "22", "23", "25", "26", "28", "2F", "38", "39", "3D", "3F", "40", "42", "44", "53", "54", "55", "57", "58", "F0",
	"HV", "P0", "XX",
}

// ExecutionBegan times and traces an execution.
func (m *Metrics) ExecutionBegan(ctx context.Context, traceParent string) (_ context.Context, end func(worker.Outcome)) {
	began := time.Now()
	ctx, span := m.beginExecution(ctx, traceParent)
	return ctx, func(outcome worker.Outcome) {
		m.execution.Observe(time.Since(began).Seconds())
		endExecution(span, outcome)
	}
}

// QueueWait observes how long a job that was due waited for its claim.
func (m *Metrics) QueueWait(d time.Duration) { m.queueWait.Observe(d.Seconds()) }

// ClaimBatch observes the number of jobs that one claim leased.
func (m *Metrics) ClaimBatch(n int) { m.claimBatch.Observe(float64(n)) }
