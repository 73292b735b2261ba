package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fencepost/internal/job"
)

// execution is one lease at work in this process.
type execution struct {
	lease  Lease
	cancel context.CancelCauseFunc
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

// register takes an executor, and ends the execution at once if its job was cancelled before.
func (w *Worker) register(e *execution) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[e] = struct{}{}
	if _, cancelled := w.cancelled[e.lease.JobID]; cancelled {
		e.cancel(errCancelled)
	}
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
	outcome, code := w.conclude(ctx, l, w.execute(ctx, l))
	end(outcome)
	if status, ended := terminal[outcome]; ended {
		w.observer.JobEnded(status)
	}
	if outcome == OutcomeFailed {
		w.observer.JobFailed(code)
	}
	w.observer.Outcome(outcome)
	w.logOutcome(outcome, code)
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

// conclude gives an execution's error its verdict, and tells the outcome and the failure code that led to it. An execution
// that was interrupted gets no verdict: its lease has gone, or goes by itself.
func (w *Worker) conclude(ctx context.Context, l Lease, err error) (Outcome, job.FailureCode) {
	switch {
	case err == nil:
		return OutcomeSucceeded, ""
	case errors.Is(err, ErrStale), ctx.Err() != nil:
		return interruption(ctx), ""
	}
	load := NewLoadError(job.FailureInternal, false, err)
	errors.As(err, &load)
	return w.giveVerdict(ctx, l, load)
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
func (w *Worker) giveVerdict(ctx context.Context, l Lease, load *LoadError) (Outcome, job.FailureCode) {
	verdict, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StatementTimeout)
	defer cancel()
	outcome, code, err := w.retryOrFail(verdict, l, load)
	switch {
	case errors.Is(err, ErrStale):
		return interruption(ctx), code
	case err != nil:
		return OutcomeAbandoned, code
	default:
		return outcome, code
	}
}

func (w *Worker) retryOrFail(ctx context.Context, l Lease, load *LoadError) (Outcome, job.FailureCode, error) {
	if load.Transient && l.Attempt < w.cfg.MaxAttempts {
		delay := jitter(backoff(w.cfg.RetryBackoff, l.Attempt))
		return OutcomeRetried, load.Code, w.queue.Retry(ctx, l, delay)
	}
	code := load.Code
	if load.Transient {
		code = job.FailureAttemptsExhausted
	}
	return OutcomeFailed, code, w.queue.Fail(ctx, l, code)
}

// logOutcome logs the end of an attempt. It names no job, and tells a failure by its code alone.
func (w *Worker) logOutcome(outcome Outcome, code job.FailureCode) {
	attrs := []slog.Attr{slog.String("outcome", string(outcome))}
	if code != "" {
		attrs = append(attrs, slog.String("code", string(code)))
	}
	w.log.LogAttrs(context.Background(), slog.LevelInfo, "job attempt ended", attrs...)
}
