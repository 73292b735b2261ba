package faultproxy

import (
	"bufio"
	"net"
	"sync"
	"time"
)

// mostExpected is how many round trips a client may have under way on one connection.
const mostExpected = 1024

// link is one connection of a client with the one to the server that belongs to it.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	// expected has an entry for each round trip under way: the hold of its answer, or nil.
	expected chan *Hold
	done     chan struct{}
	close    func()

	// These belong to the goroutine that carries the requests.
	prepared      map[string]string // statements by their names
	inTransaction bool
	hold          *Hold // for the commit of the transaction
}

func newLink(p *Proxy, client, server net.Conn) *link {
	l := &link{
		proxy: p, client: client, server: server, prepared: map[string]string{},
		expected: make(chan *Hold, mostExpected), done: make(chan struct{}),
	}
	l.close = sync.OnceFunc(func() {
		close(l.done)
		_ = client.Close()
		_ = server.Close()
	})
	return l
}

// end closes both sides and is called by both directions.
func (l *link) end() {
	l.close()
	l.proxy.forget(l)
}

func (l *link) carryRequests() {
	defer l.end()
	in := bufio.NewReader(l.client)
	startup, err := readMessage(in, untyped)
	t := trip{bytes: startup, answered: true}
	for err == nil && l.forward(t) {
		t, err = l.readTrip(in)
	}
}

// forward sends a round trip to the server, unless it is cut before.
func (l *link) forward(t trip) bool {
	h := l.holdOf(t)
	if h != nil && h.step != AfterCommit {
		if !h.stop(l) {
			return false
		}
		h = nil
	}
	if !l.wait() {
		return false
	}
	if t.answered {
		l.expected <- h
	}
	_, _ = l.server.Write(t.bytes) // when the server is gone, the other direction ends the connection
	return true
}

// holdOf is the hold whose step a round trip has come to.
func (l *link) holdOf(t trip) *Hold {
	if h := l.proxy.take(t.statements); h != nil {
		l.hold = h
	}
	l.inTransaction = (l.inTransaction || t.runs("begin")) && !t.runs("commit") && !t.runs("rollback")
	h := l.hold
	if h == nil || h.step != BeforeStatement && l.inTransaction {
		return nil
	}
	l.hold = nil
	return h
}

// wait is for the proxy's delay, and false when the connection ended meanwhile.
func (l *link) wait() bool {
	timer := time.NewTimer(l.proxy.currentDelay())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// carryAnswers passes on what the server says. The answer to a round trip that is held is kept until it is complete.
func (l *link) carryAnswers() {
	defer l.end()
	in := bufio.NewReader(l.server)
	var kept []byte
	var h *Hold
	for answering := false; ; {
		message, err := readMessage(in, typed)
		if err != nil {
			return
		}
		if !answering {
			h, answering = l.nextExpected()
		}
		kept = append(kept, message...)
		complete := message[0] == readyForQuery
		if h != nil && !complete {
			continue
		}
		if h != nil && !h.stop(l) {
			return
		}
		_, _ = l.client.Write(kept) // when the client is gone, the other direction ends the connection
		kept, answering = kept[:0], answering && !complete
	}
}

// nextExpected reports false when nothing is expected, so that the server speaks of itself: a notification.
func (l *link) nextExpected() (*Hold, bool) {
	select {
	case h := <-l.expected:
		return h, true
	default:
		return nil, false
	}
}
