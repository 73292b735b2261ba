// Package batch lets calls of one kind share the work of a round trip. It knows nothing of what the calls are about.
package batch

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"
)

// Most is the greatest number of calls that are sent together.
const Most = 100

// A Gatherer carries out calls of one kind, each about a single thing. Those that come while others are under way gather, and go
// together in the next sending: the busier the process, the more of them share a round trip. One that comes when nothing is under
// way goes at once.
type Gatherer[C, R any] struct {
	// Verb names the calls, in errors and in traces.
	Verb string
	// Send carries out calls together. Each result names its call by its place, from 1 on; a call without a result has had none.
	// An error is that of every call, the ones with a result included.
	Send func(ctx context.Context, calls []C) ([]Placed[R], error)
	// Second is how many waiting calls make a second sending go under way beside the first. With 0 there is never one.
	Second int

	mu      sync.Mutex
	waiting []*pending[C, R]
	running int // sendings under way
}

// Placed is a result with the place of the call that it answers, from 1 on.
type Placed[R any] struct {
	Result R
	Place  int
}

// pending is one of the calls. Its results may be read once done is closed.
type pending[C, R any] struct {
	call    C
	span    trace.Span // its own
	done    chan struct{}
	results []R // what came of it, one result or none
	err     error
}

// Do carries out one call and returns its result, or none. Once it is sent, it happens also when its caller gives up; one that still
// waits then never does.
func (g *Gatherer[C, R]) Do(ctx context.Context, call C) ([]R, error) {
	ctx, span := begin(ctx, g.Verb)
	p := &pending[C, R]{call: call, span: span, done: make(chan struct{})}
	g.add(p)
	select {
	case <-p.done:
		end(span, p.err)
		return p.results, p.err
	case <-ctx.Done():
		g.drop(p)
		end(span, ctx.Err())
		return nil, fmt.Errorf("%s: %w", g.Verb, ctx.Err())
	}
}

// Waiting is the number of calls that wait to be sent.
func (g *Gatherer[C, R]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

func (g *Gatherer[C, R]) add(p *pending[C, R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, p)
	if g.running == 0 || g.running == 1 && g.Second > 0 && len(g.waiting) >= g.Second {
		g.running++
		go g.run()
	}
}

// drop forgets a call that is not sent yet, so that what waits is never more than what somebody waits for: behind a database that
// hangs, clients give up and ask again for as long as it does.
func (g *Gatherer[C, R]) drop(given *pending[C, R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(p *pending[C, R]) bool { return p == given })
}

// run sends for as long as there are calls.
func (g *Gatherer[C, R]) run() {
	for calls := g.take(); len(calls) > 0; calls = g.take() {
		carryOut(g.Verb, g.Send, calls)
	}
}

// take takes the calls of the next sending. Without any, the one before was the last for now.
func (g *Gatherer[C, R]) take() []*pending[C, R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), Most)
	calls := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n) // which does not keep what they carry in memory
	if n == 0 {
		g.running--
	}
	return calls
}

// carryOut is nobody's own call, so no caller's deadline bounds it.
func carryOut[C, R any](verb string, send func(context.Context, []C) ([]Placed[R], error), gathered []*pending[C, R]) {
	calls, spans := make([]C, len(gathered)), make([]trace.Span, len(gathered))
	for i, p := range gathered {
		calls[i], spans[i] = p.call, p.span
	}
	ctx, shared := beginShared(spans, verb)
	results, err := send(ctx, calls)
	end(shared, err)
	for _, r := range results {
		gathered[r.Place-1].results = []R{r.Result}
	}
	for _, p := range gathered {
		p.err = err
		close(p.done)
	}
}
