package faultproxy

import (
	"testing"
	"time"
)

// Step is a place in the life of a statement.
type Step int

// The steps. A statement outside of a transaction block commits in its own round trip.
const (
	// BeforeStatement: the server has not seen the round trip that the statement is in.
	BeforeStatement Step = iota
	// BeforeCommit: the server has not seen the round trip that commits the statement.
	BeforeCommit
	// AfterCommit: the server has committed the statement, and its client does not know.
	AfterCommit
)

// String names the step, for the names of tests.
func (s Step) String() string {
	return [...]string{"before the statement", "before the commit", "after the commit"}[s]
}

// patience is how long a test waits for what normally happens at once.
const patience = time.Minute

// Hold is a step at which one connection is to be held. Make one with [Proxy.Hold].
type Hold struct {
	step     Step
	sql      string
	patience time.Duration
	held     chan struct{}
	decision chan bool
}

// Hold makes the next connection that executes a statement stop at a step. The statement is the first one that contains
// sql and for which no earlier hold waits. Other connections go on, and so does the next one that executes it.
func (p *Proxy) Hold(step Step, sql string) *Hold {
	h := &Hold{step: step, sql: sql, patience: patience, held: make(chan struct{}), decision: make(chan bool, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = append(p.armed, h)
	return h
}

// Wait returns when a connection is held.
func (h *Hold) Wait(t testing.TB) {
	t.Helper()
	select {
	case <-h.held:
	case <-time.After(h.patience):
		t.Fatalf("faultproxy: no connection came to the step %s of %q", h.step, h.sql)
	}
}

// Cut waits for the connection and cuts both sides of it: what was held is never seen.
func (h *Hold) Cut(t testing.TB) {
	t.Helper()
	h.Wait(t)
	h.decision <- false
}

// Pass waits for the connection and lets it go on.
func (h *Hold) Pass(t testing.TB) {
	t.Helper()
	h.Wait(t)
	h.decision <- true
}

// stop holds a connection until the test has decided, and reports whether it goes on.
func (h *Hold) stop(l *link) bool {
	close(h.held)
	select {
	case pass := <-h.decision:
		return pass
	case <-l.done:
		return false
	}
}
