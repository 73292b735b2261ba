package transport

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"fencepost/graph/fault"
)

// maxRunning is how many operations one connection may run at a time.
const maxRunning = 100

// connection is one client's WebSocket. One goroutine reads it, one keeps it alive, and each operation has one.
type connection struct {
	socketTransport
	socket *websocket.Conn
	header http.Header
	exec   graphql.GraphExecutor
	tasks  sync.WaitGroup

	initialised chan struct{} // closed by the reader

	mu         sync.Mutex // held while a message is written, so that none is for an operation that has ended
	operations map[string]*operation
}

func newConnection(t socketTransport, socket *websocket.Conn, header http.Header, exec graphql.GraphExecutor) *connection {
	return &connection{
		socketTransport: t, socket: socket, header: header, exec: exec,
		initialised: make(chan struct{}), operations: map[string]*operation{},
	}
}

// serve returns when the connection has ended, and everything that belongs to it.
func (c *connection) serve(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer c.tasks.Wait()
	defer end()
	c.tasks.Go(func() { c.keep(ctx) })
	for {
		m, valid, err := c.read(ctx)
		if err != nil {
			return
		}
		if why := c.handle(ctx, m, valid); why != nil {
			c.close(*why)
			return
		}
	}
}

// read waits for a message as long as it takes, but the rest of one must follow its beginning soon.
func (c *connection) read(ctx context.Context) (m received, valid bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kind, reader, err := c.socket.Reader(ctx)
	if err != nil {
		return received{}, false, err
	}
	defer time.AfterFunc(c.ClientTimeout, cancel).Stop()
	text, err := io.ReadAll(reader)
	m, valid = parse(kind, text)
	return m, valid, err
}

// keep pings the client, and ends the connection when it is not heard of, does not introduce itself, or the server stops.
func (c *connection) keep(ctx context.Context) {
	ping := time.NewTicker(c.KeepAlive)
	defer ping.Stop()
	introduction := time.NewTimer(c.ClientTimeout)
	defer introduction.Stop()
	initialised := c.initialised
	for {
		select {
		case <-ctx.Done():
			return
		case <-initialised:
			introduction.Stop()
			initialised = nil
		case <-introduction.C:
			c.close(closeInitTimeout)
		case <-c.Closing:
			c.close(closeStopping)
			return
		case <-ping.C:
			c.ping(ctx)
		}
	}
}

func (c *connection) ping(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.ClientTimeout)
	defer cancel()
	if c.socket.Ping(ctx) != nil {
		_ = c.socket.CloseNow()
	}
}

func (c *connection) close(why closure) { _ = c.socket.Close(why.code, why.reason) }

// handle does what a message asks for, or says why the connection must be closed.
func (c *connection) handle(ctx context.Context, m received, valid bool) *closure {
	switch {
	case !valid:
		return &closeInvalid
	case m.Type == messageInit && c.isInitialised():
		return &closeSecondInit
	case m.Type == messageInit:
		close(c.initialised)
		c.write(ctx, sent{Type: messageAck})
	case m.Type == messagePing:
		c.write(ctx, sent{Type: messagePong})
	case m.Type == messageSubscribe:
		return c.subscribe(ctx, m)
	case m.Type == messageComplete:
		c.complete(m.ID)
	}
	return nil
}

func (c *connection) isInitialised() bool {
	select {
	case <-c.initialised:
		return true
	default:
		return false
	}
}

func (c *connection) subscribe(ctx context.Context, m received) *closure {
	p, valid := m.parameters()
	if !c.isInitialised() {
		return &closeUnauthorized
	}
	if !valid {
		return &closeInvalid
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.operations[m.ID] != nil {
		return &closeDuplicate
	}
	if len(c.operations) == maxRunning {
		c.write(ctx, sent{Type: messageError, ID: m.ID, Payload: gqlerror.List{fault.TooManyStreams()}})
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	op := &operation{connection: c, id: m.ID, stop: stop}
	c.operations[m.ID] = op
	params := p.raw()
	params.Headers = c.header
	c.tasks.Go(func() { op.run(ctx, params) })
	return nil
}

// complete ends an operation for its client. There may be none any more: the last message may have crossed this one.
func (c *connection) complete(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if op := c.operations[id]; op != nil {
		delete(c.operations, id)
		op.stop()
	}
}

// write gives the connection up when the client does not take what is written.
func (c *connection) write(ctx context.Context, m sent) {
	ctx, cancel := context.WithTimeout(ctx, c.ClientTimeout)
	defer cancel()
	text, _ := json.Marshal(m) // gqlgen's own JSON always is JSON
	if c.socket.Write(ctx, websocket.MessageText, text) != nil {
		_ = c.socket.CloseNow()
	}
}
