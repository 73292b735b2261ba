package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"fencepost/internal/job"
)

// execution is one lease at work in this process.
type execution struct {
	lease  Lease
	cancel context.CancelCauseFunc
	// hints counts those that the job was cancelled, since the look at its lease that is under way began; 0 without one.
	hints atomic.Int64
}

// terminal has the outcomes that end a job.
var terminal = map[Outcome]job.Status{OutcomeSucceeded: job.StatusSucceeded, OutcomeFailed: job.StatusFailed}

// start runs a lease on its own goroutine until the deadline at the latest. The deadline counts from before the claim, on
// the monotonic clock, so it never comes after the database's own.
func (w *Worker) start(executions context.Context, l Lease, deadline time.Time) {
	ctx, cancel := context.WithCancelCause(executions)
	e := &execution{lease: l, cancel: cancel}
	w.register(e)
	w.done.Go(func() {
		defer w.release(e)
		ctx, expire := context.WithDeadline(ctx, deadline)
		defer expire()
		w.run(ctx, l)
	})
}

// register takes an executor, and doubts the execution at once if a cancellation of its job was told before.
func (w *Worker) register(e *execution) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[e] = struct{}{}
	if _, cancelled := w.cancelled[e.lease.JobID]; cancelled {
		w.doubt(e)
	}
}

// doubt looks whether an execution still has its lease, and ends it if not: a hint proves nothing, since every role of the database may
// send one. Hints that come during a look share the next one. w.mu is held, and the execution is among those that run.
func (w *Worker) doubt(e *execution) {
	if e.hints.Add(1) > 1 {
		return
	}
	w.done.Go(func() {
		for looked := false; !looked; {
			hints := e.hints.Load()
			if !w.holds(e.lease) {
				e.cancel(errCancelled)
			}
			looked = e.hints.CompareAndSwap(hints, 0)
		}
	})
}

// holds reports whether a lease is still the job's, and also when that cannot be found out: the fence decides in the end.
func (w *Worker) holds(l Lease) bool {
	ctx, cancel := context.WithTimeout(context.Background(), w.cfg.StatementTimeout)
	defer cancel()
	held, err := w.queue.Holds(ctx, l)
	return held || err != nil
}

// release frees the executor.
func (w *Worker) release(e *execution) {
	e.cancel(nil)
	w.mu.Lock()
	delete(w.running, e)
	w.mu.Unlock()
	w.wakeClaimer()
}

func (w *Worker) run(ctx context.Context, l Lease) {
	ctx, end := w.observer.ExecutionBegan(ctx, l.TraceParent)
	outcome, failure := w.conclude(ctx, l, w.execute(ctx, l))
	end(outcome)
	if status, ended := terminal[outcome]; ended {
		w.observer.JobEnded(status)
	}
	if outcome == OutcomeFailed {
		w.observer.JobFailed(failure)
	}
	w.observer.Outcome(outcome)
	w.logOutcome(l, outcome, failure)
}

// execute turns a panic into an error that no [LoadError] describes. Its value may hold a payload, so it is dropped.
func (w *Worker) execute(ctx context.Context, l Lease) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("execution panicked")
		}
	}()
	return w.queue.Execute(ctx, l)
}

// conclude gives an execution's error its verdict, and tells the outcome and the failure that led to it. An execution that was
// interrupted gets no verdict: its lease has gone, or goes by itself.
func (w *Worker) conclude(ctx context.Context, l Lease, err error) (Outcome, Failure) {
	switch {
	case err == nil:
		w.load.passed(l)
		return OutcomeSucceeded, Failure{}
	case errors.Is(err, ErrStale):
		w.refusedLate(ctx, l)
		return interruption(ctx), Failure{}
	case ctx.Err() != nil:
		return interruption(ctx), Failure{}
	}
	load := NewLoadError(job.FailureInternal, FaultOfJob, err)
	errors.As(err, &load)
	return w.giveVerdict(ctx, l, load)
}

// refusedLate writes down what the fence refused. That is a help for whoever asks later, so it is tried once.
func (w *Worker) refusedLate(ctx context.Context, l Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StatementTimeout)
	defer cancel()
	_ = w.queue.RefusedLate(ctx, l)
}

// interruption says why a lease ended before its execution.
func interruption(ctx context.Context) Outcome {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errCancelled):
		return OutcomeCancelled
	case errors.Is(cause, ErrDrainDeadline):
		return OutcomeAbandoned
	default:
		return OutcomeStale
	}
}

// giveVerdict retries or fails a job. Both name the exact lease, so they are safe even after a commit whose result was lost:
// had it succeeded, they would match nothing.
func (w *Worker) giveVerdict(ctx context.Context, l Lease, load *LoadError) (Outcome, Failure) {
	outcome, failure, verdict := w.judge(ctx, l, load)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StatementTimeout)
	defer cancel()
	switch err := verdict(bounded); {
	case errors.Is(err, ErrStale):
		w.refusedLate(ctx, l)
		return interruption(ctx), failure
	case err != nil:
		return OutcomeAbandoned, failure
	default:
		return outcome, failure
	}
}

// judge decides what becomes of a job whose execution failed.
func (w *Worker) judge(ctx context.Context, l Lease, load *LoadError) (Outcome, Failure, func(context.Context) error) {
	failure := load.Failure
	giveBack := Return{Outcome: job.AttemptRetried, SQLState: failure.SQLState}
	switch {
	case load.Fault == FaultOfLoad && w.load.failed(l, load):
		giveBack.Outcome = job.AttemptLoadClosed
		return OutcomeReturned, failure, func(ctx context.Context) error { return w.queue.Retry(ctx, l, giveBack) }
	case load.Fault == FaultPassing && l.Faults+1 < w.cfg.MaxAttempts:
		giveBack.Delay = jitter(backoff(w.cfg.RetryBackoff, l.Faults+1))
		return OutcomeRetried, failure, func(ctx context.Context) error { return w.queue.Retry(ctx, l, giveBack) }
	case load.Fault == FaultPassing:
		failure.Code = job.FailureAttemptsExhausted
	default:
		w.load.passed(l)
		failure.RecordOrdinal = w.explain(ctx, l, failure)
	}
	return OutcomeFailed, failure, func(ctx context.Context) error { return w.queue.Fail(ctx, l, failure) }
}

// explain finds the record at fault, for as long as the lease lives and the operator allows.
func (w *Worker) explain(ctx context.Context, l Lease, failure Failure) int {
	if failure.Code != job.FailureTarget || w.cfg.ExplainTimeout == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, w.cfg.ExplainTimeout)
	defer cancel()
	return w.queue.Explain(ctx, l, failure.SQLState)
}

// logOutcome logs the end of an attempt: a success for who looks closely, and a failure with its job and what is known of it.
func (w *Worker) logOutcome(l Lease, outcome Outcome, failure Failure) {
	attrs := []slog.Attr{slog.String("outcome", string(outcome)), slog.Int("attempt", l.Attempt)}
	if outcome == OutcomeSucceeded {
		w.log.LogAttrs(context.Background(), slog.LevelDebug, "job attempt ended", attrs...)
		return
	}
	if failure.Code != "" {
		attrs = append(attrs, slog.String("job", l.JobID.String()))
	}
	for _, fact := range []slog.Attr{
		slog.String("code", string(failure.Code)), slog.String("sql_state", failure.SQLState), slog.String("constraint", failure.Constraint),
	} {
		if fact.Value.String() != "" {
			attrs = append(attrs, fact)
		}
	}
	w.log.LogAttrs(context.Background(), slog.LevelWarn, "job attempt ended", attrs...)
}
