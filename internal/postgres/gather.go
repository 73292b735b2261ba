package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

const (
	// gatheredAtOnce is the most calls that go into one statement.
	gatheredAtOnce = 100
	// manyReads is how many reads, waiting for a statement, get a second one: enough for both to be worth a round trip.
	manyReads = 16
)

// A gatherer carries out calls of one kind, each about a single job. Those that come while its statement is under way gather, and
// go together in the next one: the busier the server, the more of them share a round trip. One that comes when nothing is
// under way goes at once.
type gatherer[C, R any] struct {
	verb string
	// send carries out calls in one statement. Each result names its call by its place, from 1 on.
	send func(ctx context.Context, calls []C) ([]placed[R], error)
	// second is how many waiting calls make a second statement go under way beside the first. With 0 there is never one.
	second int

	mu      sync.Mutex
	waiting []*gathered[C, R]
	running int // statements under way
}

// gathered is one of the calls. Its results may be read once done is closed.
type gathered[C, R any] struct {
	call    C
	done    chan struct{}
	results []R // what the statement returned for it, one result or none
	err     error
}

// do carries out one call. Once it is sent, it happens also when its caller gives up; one that still waits then never does.
func (g *gatherer[C, R]) do(ctx context.Context, call C) ([]R, error) {
	c := &gathered[C, R]{call: call, done: make(chan struct{})}
	g.add(c)
	select {
	case <-c.done:
		return c.results, c.err
	case <-ctx.Done():
		g.drop(c)
		return nil, fmt.Errorf("%s: %w", g.verb, ctx.Err())
	}
}

func (g *gatherer[C, R]) add(c *gathered[C, R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, c)
	if g.running == 0 || g.running == 1 && g.second > 0 && len(g.waiting) >= g.second {
		g.running++
		go g.run()
	}
}

// drop forgets a call that is not sent yet, so that what waits is never more than what somebody waits for: behind a database that
// hangs, clients give up and ask again for as long as it does.
func (g *gatherer[C, R]) drop(given *gathered[C, R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(c *gathered[C, R]) bool { return c == given })
}

// run sends one statement after the other for as long as there are calls.
func (g *gatherer[C, R]) run() {
	for calls := g.take(); len(calls) > 0; calls = g.take() {
		g.carryOut(calls)
	}
}

// take takes the calls of the next statement. Without any, the one before was the last for now.
func (g *gatherer[C, R]) take() []*gathered[C, R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), gatheredAtOnce)
	calls := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n) // which does not keep their payloads in memory
	if n == 0 {
		g.running--
	}
	return calls
}

// carryOut is nobody's own call, so it is bounded by the call timeout alone.
func (g *gatherer[C, R]) carryOut(gathered []*gathered[C, R]) {
	calls := make([]C, len(gathered))
	for i, c := range gathered {
		calls[i] = c.call
	}
	returned, err := g.send(context.Background(), calls)
	for _, p := range returned {
		gathered[p.place-1].results = []R{p.result}
	}
	for _, c := range gathered {
		c.err = err
		close(c.done)
	}
}

// placed is a result with the place of the call that it answers.
type placed[R any] struct {
	result R
	place  int
}

func scanPlacedJob(row pgx.CollectableRow) (p placed[job.Job], err error) {
	p.result, err = scanJob(row, &p.place)
	return p, err
}

// writeGathered sends the statement of gathered writes under the lock timeout. The jobs that it returns have changed.
func (s *Store) writeGathered(ctx context.Context, verb string, st statement) ([]placed[job.Job], error) {
	changed, err := queryUnder(ctx, s, verb, scanPlacedJob, s.setLockTimeout(), st)
	for _, p := range changed {
		s.notices.publishJob(p.result)
	}
	return changed, err
}
