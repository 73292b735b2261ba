// Package shares divides what many want among owners: each gets a place in its turn, and none gets them all.
package shares

import (
	"context"
	"slices"
	"sync"
)

// Places are a number of places, for any number of calls of any number of owners. Owners that wait take turns, whatever the number of
// their calls; calls of one owner are served in their order.
type Places[Owner comparable] struct {
	each int

	mu    sync.Mutex
	free  int
	taken map[Owner]int             // by owners that have a place
	lines map[Owner][]chan struct{} // the calls that wait, by owners that have one
	turns []Owner                   // the owners in lines, the next first
}

// NewPlaces makes so many places in total, of which each owner may have some at once.
func NewPlaces[Owner comparable](total, each int) *Places[Owner] {
	return &Places[Owner]{free: total, each: each, taken: map[Owner]int{}, lines: map[Owner][]chan struct{}{}}
}

// Take waits for a place, or returns the cause of ctx's end. Every place that was taken is to be given back.
func (p *Places[Owner]) Take(ctx context.Context, owner Owner) error {
	turn := p.line(owner)
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		p.leave(owner, turn)
		return context.Cause(ctx)
	}
}

// Give gives a place back that the owner has taken.
func (p *Places[Owner]) Give(owner Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.give(owner)
}

// Waiting is the number of calls that wait for a place.
func (p *Places[Owner]) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, line := range p.lines {
		n += len(line)
	}
	return n
}

// line puts a call at the end of its owner's line, out of which it may come at once. Its turn is there when the channel is closed.
func (p *Places[Owner]) line(owner Owner) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	turn := make(chan struct{})
	if len(p.lines[owner]) == 0 {
		p.turns = append(p.turns, owner)
	}
	p.lines[owner] = append(p.lines[owner], turn)
	p.serve()
	return turn
}

// leave takes a call out of its line. When its turn came at the same moment, its place goes on to the next.
func (p *Places[Owner]) leave(owner Owner, turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.lines[owner], turn)
	if at < 0 {
		p.give(owner)
		return
	}
	p.lines[owner] = slices.Delete(p.lines[owner], at, at+1)
	if len(p.lines[owner]) == 0 {
		delete(p.lines, owner)
		p.turns = slices.DeleteFunc(p.turns, func(o Owner) bool { return o == owner })
	}
}

func (p *Places[Owner]) give(owner Owner) {
	p.free++
	if p.taken[owner]--; p.taken[owner] == 0 {
		delete(p.taken, owner)
	}
	p.serve()
}

// serve gives free places to the owners whose turn it is, as long as one of them may have one more.
func (p *Places[Owner]) serve() {
	for p.free > 0 {
		next := slices.IndexFunc(p.turns, func(o Owner) bool { return p.taken[o] < p.each })
		if next < 0 {
			return
		}
		owner := p.turns[next]
		p.turns = slices.Delete(p.turns, next, next+1)
		close(p.lines[owner][0])
		p.free--
		p.taken[owner]++
		if p.lines[owner] = p.lines[owner][1:]; len(p.lines[owner]) > 0 {
			p.turns = append(p.turns, owner)
		} else {
			delete(p.lines, owner)
		}
	}
}
