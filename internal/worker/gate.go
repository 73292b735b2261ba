package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// shortestProbe and longestProbe bound the pause between two looks at a closed load, which doubles.
	shortestProbe = time.Second
	longestProbe  = time.Minute
	// poisonous is how often a job meets a fault of the load's kind, while others get past, before it counts as its own.
	poisonous = 3
	// suspected bounds how many jobs are remembered for that.
	suspected = 10_000

	// defaultLoad names the load of an installation that has but one.
	defaultLoad = "default"
)

// The states of a loadGate.
const (
	gateOpen   = iota
	gateClosed // nothing is claimed until the load prepares
	gateTrial  // it does prepare; one job at a time until one gets past what closed the load
)

// A loadGate keeps jobs from being claimed for a load that cannot run, so that a slip of the operator's burns none of them.
type loadGate struct {
	observer Observer
	log      *slog.Logger

	mu    sync.Mutex
	state int
	pause time.Duration // before the next look at a closed load
	// successes counts the jobs that got past, and suspects has those that did not.
	successes uint64
	suspects  map[uuid.UUID]suspect
}

// suspect is a job that has met faults of the load's kind.
type suspect struct {
	faults int
	since  uint64 // the successes before the first of them
}

func newLoadGate(observer Observer, log *slog.Logger) *loadGate {
	observer.LoadOpen(defaultLoad, true)
	return &loadGate{observer: observer, log: log, suspects: map[uuid.UUID]suspect{}}
}

// open reports whether jobs of the load are claimed.
func (g *loadGate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == gateOpen
}

// admits reports whether jobs may be claimed. While the load is closed it waits for the next look at it, and takes that.
func (g *loadGate) admits(ctx context.Context, prepare func(context.Context) error) bool {
	g.mu.Lock()
	closed, pause := g.state == gateClosed, g.pause
	g.mu.Unlock()
	if !closed {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
	}
	prepared := prepare(ctx) == nil
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pause = min(2*pause, longestProbe)
	if prepared {
		g.state = gateTrial
	}
	return prepared
}

// limit is how many of the free executors may get a job now.
func (g *loadGate) limit(free, executors int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.state == gateOpen:
		return free
	case g.state == gateTrial && free == executors:
		return 1
	default:
		return 0
	}
}

// passed opens the load: a job got as far as its own records.
func (g *loadGate) passed(l Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.successes++
	delete(g.suspects, l.JobID)
	if g.state == gateTrial {
		g.state = gateOpen
		g.observer.LoadOpen(defaultLoad, true)
		g.log.Info("load is open again", "load", defaultLoad)
	}
}

// failed closes the load for a fault of its own, and reports whether it was that: a job which meets such a fault again and again while
// others get past is at fault itself.
func (g *loadGate) failed(l Lease, fault *LoadError) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.poisoned(l.JobID) {
		return false
	}
	switch g.state {
	case gateOpen:
		g.pause = shortestProbe
		g.observer.LoadOpen(defaultLoad, false)
		g.logClosed(fault)
	case gateTrial:
	case gateClosed:
		return true
	}
	g.state = gateClosed
	return true
}

// poisoned counts a fault of a job, and judges it.
func (g *loadGate) poisoned(id uuid.UUID) bool {
	s, known := g.suspects[id]
	if !known {
		if len(g.suspects) == suspected {
			clear(g.suspects)
		}
		s.since = g.successes
	}
	s.faults++
	g.suspects[id] = s
	return s.faults >= poisonous && g.successes > s.since
}

func (g *loadGate) logClosed(fault *LoadError) {
	attrs := []slog.Attr{slog.String("load", defaultLoad), slog.String("sql_state", fault.SQLState)}
	if fault.Place != "" {
		attrs = append(attrs, slog.String("place", fault.Place))
	}
	if fault.Constraint != "" {
		attrs = append(attrs, slog.String("constraint", fault.Constraint))
	}
	g.log.LogAttrs(context.Background(), slog.LevelError, "load is closed: mend it or its target, and it opens by itself", attrs...)
}
