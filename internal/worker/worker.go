package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// ErrDrainDeadline is returned by [Worker.Run] when executions were still running at the end of the drain. Their jobs are
// left to their leases, with no effects unless they succeed in that very moment.
var ErrDrainDeadline = errors.New("drain deadline passed with jobs still running")

// errCancelled is why an execution's context ended: a notice told that the owner's cancellation is committed.
var errCancelled = errors.New("job was cancelled")

// Config says how a worker works. Every duration and number must be positive, DrainTimeout may be zero.
type Config struct {
	// Workers is the number of jobs that this process runs at once.
	Workers int
	// LeaseDuration is how long a lease lives, and so the longest that an execution may take.
	LeaseDuration time.Duration
	// PollInterval is the longest pause between two claims while an executor is free, and the pause after a failed claim.
	PollInterval time.Duration
	// MaxAttempts is how many attempts may end by a passing fault or a lost lease; after them a job is failed instead of retried.
	MaxAttempts int
	// ExplainTimeout bounds the search for the record at fault in a failed batch; with 0 there is none.
	ExplainTimeout time.Duration
	// RetryBackoff is the delay after the first failed attempt. It doubles with each further one, to 15 minutes at
	// most, and is shortened at random by up to a half.
	RetryBackoff time.Duration
	// DrainTimeout is how long running jobs may go on once the worker was told to stop.
	DrainTimeout time.Duration
	// StatementTimeout bounds a claim or a verdict, each of which is one short statement; 0 means 5 seconds.
	StatementTimeout time.Duration
}

// Worker claims and runs jobs. Make one with [New].
type Worker struct {
	queue    Queue
	cfg      Config
	observer Observer
	log      *slog.Logger
	id       uuid.UUID

	// wake holds at most one token: there may be something to claim, or a free executor to claim for.
	wake chan struct{}
	// claimFailing remembers the result of the latest claim, so that only changes are logged.
	claimFailing atomic.Bool

	mu      sync.Mutex
	running map[*execution]struct{}
	// cancelled has the jobs whose cancellation was told during the claim that is under way; it is nil between claims.
	cancelled map[uuid.UUID]struct{}
	done      sync.WaitGroup

	load *loadGate
}

// New makes a worker with a fresh identity. It does nothing until [Worker.Run].
func New(queue Queue, cfg Config, observer Observer, log *slog.Logger) *Worker {
	cfg.StatementTimeout = cmp.Or(cfg.StatementTimeout, 5*time.Second)
	return &Worker{
		queue:    queue,
		cfg:      cfg,
		observer: observer,
		log:      log,
		id:       uuid.New(),
		wake:     make(chan struct{}, 1),
		running:  make(map[*execution]struct{}, cfg.Workers),
		load:     newLoadGate(observer, log),
	}
}

// ErrNotReady says that jobs are not run now.
var ErrNotReady = errors.New("worker: its load is closed, or it cannot claim")

// Ready is nil while jobs can be run: their load is open, and the latest claim was answered. Else it is [ErrNotReady].
func (w *Worker) Ready() error {
	if !w.load.open() || w.claimFailing.Load() {
		return ErrNotReady
	}
	return nil
}

// Run claims and runs jobs until ctx is done, and then drains: it claims no more, and lets what runs finish within the drain
// timeout. It returns [ErrDrainDeadline] when something didn't, and otherwise nil. Call it once.
func (w *Worker) Run(ctx context.Context) error {
	executions, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(nil)
	for ctx.Err() == nil {
		w.claimOnce(ctx, executions)
	}
	w.drain(abandon)
	return context.Cause(executions)
}

func (w *Worker) drain(abandon context.CancelCauseFunc) {
	w.log.Info("worker drains")
	deadline := time.AfterFunc(w.cfg.DrainTimeout, func() { abandon(ErrDrainDeadline) })
	defer deadline.Stop()
	w.done.Wait()
}

// Notify takes a hint from the database without blocking. A PENDING job, or the zero Notice, makes the worker claim at once;
// a CANCELLED job is stopped, if it runs here and its row says so too. Any other hint is ignored, and a lost one only costs time.
func (w *Worker) Notify(n Notice) {
	switch {
	case n == Notice{}, n.Status == job.StatusPending:
		w.wakeClaimer()
	case n.Status == job.StatusCancelled:
		w.stop(n.JobID)
	}
}

func (w *Worker) wakeClaimer() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop doubts the job's execution. While a claim is under way that execution may be about to start, so the job is remembered.
func (w *Worker) stop(id uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancelled != nil {
		w.cancelled[id] = struct{}{}
	}
	for e := range w.running {
		if e.lease.JobID == id {
			w.doubt(e)
		}
	}
}
