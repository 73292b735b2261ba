package worker_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// recorder is an observer that tests wait on. Its channels hold more than any test produces.
type recorder struct {
	outcomes   chan worker.Outcome
	ended      chan job.Status
	failures   chan worker.Failure
	executions chan worker.Outcome
	waits      chan time.Duration
	batches    chan int
}

func newRecorder() *recorder {
	const room = 1000
	return &recorder{
		outcomes:   make(chan worker.Outcome, room),
		ended:      make(chan job.Status, room),
		failures:   make(chan worker.Failure, room),
		executions: make(chan worker.Outcome, room),
		waits:      make(chan time.Duration, room),
		batches:    make(chan int, room),
	}
}

func (r *recorder) JobEnded(s job.Status)      { r.ended <- s }
func (r *recorder) JobFailed(f worker.Failure) { r.failures <- f }
func (r *recorder) LoadOpen(string, bool)      {}
func (r *recorder) Outcome(o worker.Outcome)   { r.outcomes <- o }
func (r *recorder) QueueWait(d time.Duration)  { r.waits <- d }
func (r *recorder) ClaimBatch(n int)           { r.batches <- n }

func (r *recorder) ExecutionBegan(ctx context.Context, _ string) (context.Context, func(worker.Outcome)) {
	return ctx, func(o worker.Outcome) { r.executions <- o }
}

// expect fails unless the next outcomes, claims that found nothing aside, are these.
func (r *recorder) expect(t *testing.T, want ...worker.Outcome) {
	t.Helper()
	for _, outcome := range want {
		got := next(t, r.outcomes)
		for got == worker.OutcomeIdle {
			got = next(t, r.outcomes)
		}
		require.Equal(t, outcome, got)
	}
}

// expectEnded fails unless exactly these jobs have ended since the last call.
func (r *recorder) expectEnded(t *testing.T, want ...job.Status) {
	t.Helper()
	require.Equal(t, want, drained(r.ended))
}

// drained takes what a channel holds now.
func drained[T any](ch chan T) []T {
	var all []T
	for len(ch) > 0 {
		all = append(all, <-ch)
	}
	return all
}

// next waits for a value.
func next[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case value := <-ch:
		return value
	case <-time.After(patience):
		require.FailNow(t, "gave up waiting")
		panic("unreachable")
	}
}

// logBuffer collects log lines from many goroutines.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
