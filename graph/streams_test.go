package graph_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/internal/pgtest"
	"fencepost/internal/worker"
)

// patience is how long a test waits for something that normally happens at once.
const patience = time.Minute

// newStreamServer starts an endpoint that hears of changes.
func newStreamServer(t *testing.T, change ...func(*graph.Config)) *server {
	t.Helper()
	s := newServer(t, change...)
	s.listen()
	return s
}

// newPair starts two endpoints, as two processes on one database would be. The first one hears of changes.
func newPair(t *testing.T) (first, second *server) {
	t.Helper()
	url := pgtest.URL(t)
	first, second = newServerOn(t, pgtest.PoolOn(t, url)), newServerOn(t, pgtest.PoolOn(t, url))
	first.listen()
	return first, second
}

// listen passes the database's notices to the endpoint, from now on.
func (s *server) listen() {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ready := make(chan struct{})
	var connected sync.Once
	var listener sync.WaitGroup
	listener.Go(func() {
		s.store.Listen(ctx, func(n worker.Notice) {
			s.feed.Notify(n)
			connected.Do(func() { close(ready) })
		})
	})
	s.t.Cleanup(func() { stop(); listener.Wait() })
	<-ready
}

// exec runs SQL that the server's role may not run.
func (s *server) exec(sql string) {
	s.t.Helper()
	_, err := pgtest.SuperuserPool(s.t, s.pool.Config().ConnString()).Exec(s.t.Context(), sql)
	require.NoError(s.t, err)
}

// claim makes the job that is due RUNNING.
func (s *server) claim() worker.Lease {
	s.t.Helper()
	claimed, err := s.store.Claim(s.t.Context(), worker.ClaimRequest{
		WorkerID: uuid.New(), Limit: 1, Duration: time.Minute, MaxAttempts: 1000,
	})
	require.NoError(s.t, err)
	require.Len(s.t, claimed.Leases, 1)
	return claimed.Leases[0]
}

// event is what a stream tells: "next", "error" or "complete", with its payload. The zero event is the stream's end.
type event struct {
	kind    string
	payload any
}

// stream is a subscription over either transport.
type stream struct {
	t      *testing.T
	events <-chan event
	close  func()
}

// next returns the next event.
func (s *stream) next() event {
	s.t.Helper()
	select {
	case e := <-s.events:
		return e
	case <-time.After(patience):
		require.Fail(s.t, "nothing came")
		return event{}
	}
}

// data returns the data of the next event, which must be a "next" without errors.
func (s *stream) data(path ...any) any {
	s.t.Helper()
	e := s.next()
	require.Equal(s.t, "next", e.kind, "%v", e.payload)
	require.Nil(s.t, e.payload.(map[string]any)["errors"])
	return at(s.t, e.payload, append([]any{"data"}, path...)...)
}

func (s *stream) requireComplete() {
	s.t.Helper()
	require.Equal(s.t, "complete", s.next().kind)
}

// requireRefused wants errors without data, and nothing behind them but the end of the stream.
func (s *stream) requireRefused(code string) {
	s.t.Helper()
	refused := s.next()
	errors := refused.payload
	if refused.kind == "next" { // server-sent events have no other kind for it
		require.NotContains(s.t, refused.payload, "data")
		errors = at(s.t, refused.payload, "errors")
		s.requireComplete()
	} else {
		require.Equal(s.t, "error", refused.kind)
	}
	require.Equal(s.t, code, at(s.t, errors, 0, "extensions", "code"))
}

// follower subscribes over one of the transports.
type follower func(s *server, query string, variables map[string]any, headers ...string) *stream

var transports = map[string]follower{
	"server-sent events": (*server).overEvents,
	"WebSocket":          (*server).overSocket,
}

func eachTransport(t *testing.T, test func(t *testing.T, subscribe follower)) {
	t.Helper()
	for name, subscribe := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, subscribe)
		})
	}
}

// openEvents sends a request for server-sent events.
func (s *server) openEvents(query string, variables map[string]any, headers ...string) *http.Response {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(string(body)))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func (s *server) overEvents(query string, variables map[string]any, headers ...string) *stream {
	s.t.Helper()
	response := s.openEvents(query, variables, headers...)
	require.Equal(s.t, http.StatusOK, response.StatusCode)
	require.Equal(s.t, "text/event-stream; charset=utf-8", response.Header.Get("Content-Type"))
	events := make(chan event, 100)
	go func() {
		defer close(events)
		readEvents(response.Body, events)
	}()
	return &stream{t: s.t, events: events, close: func() { _ = response.Body.Close() }}
}

// readEvents reads as a browser's EventSource does: an event without a data line is none.
func readEvents(body io.Reader, events chan<- event) {
	var e event
	var data *string
	for lines := bufio.NewScanner(body); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ":"); {
		case lines.Text() == "" && data != nil:
			_ = json.Unmarshal([]byte(*data), &e.payload) // "complete" has none
			events <- e
			e, data = event{}, nil
		case name == "event":
			e.kind = strings.TrimPrefix(value, " ")
		case name == "data":
			data = &value
		}
	}
}

// socket is a WebSocket to the endpoint.
type socket struct {
	t *testing.T
	*websocket.Conn
}

// dial opens a WebSocket without saying anything on it.
func (s *server) dial(options websocket.DialOptions, headers ...string) (*websocket.Conn, *http.Response, error) {
	if options.Subprotocols == nil {
		options.Subprotocols = []string{"graphql-transport-ws"}
	}
	options.HTTPHeader = http.Header{}
	for i := 0; i < len(headers); i += 2 {
		options.HTTPHeader.Set(headers[i], headers[i+1])
	}
	return websocket.Dial(s.t.Context(), strings.Replace(s.url, "http", "ws", 1), &options)
}

// open opens a WebSocket.
func (s *server) open(headers ...string) *socket {
	s.t.Helper()
	conn, _, err := s.dial(websocket.DialOptions{}, headers...)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(-1)
	return &socket{t: s.t, Conn: conn}
}

// connect opens a WebSocket and introduces itself.
func (s *server) connect(headers ...string) *socket {
	s.t.Helper()
	c := s.open(headers...)
	c.send(`{"type": "connection_init"}`)
	require.Equal(s.t, "connection_ack", c.receive().kind)
	return c
}

func (c *socket) send(text string) {
	c.t.Helper()
	require.NoError(c.t, c.Write(c.t.Context(), websocket.MessageText, []byte(text)))
}

func (c *socket) subscribe(id, query string, variables map[string]any) {
	c.t.Helper()
	text, err := json.Marshal(map[string]any{
		"id": id, "type": "subscribe", "payload": map[string]any{"query": query, "variables": variables},
	})
	require.NoError(c.t, err)
	c.send(string(text))
}

// receive returns the next message as an event, or the zero event when the connection has ended.
func (c *socket) receive() event {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, text, err := c.Read(ctx)
	if err != nil {
		return event{}
	}
	var m struct {
		Type    string
		Payload any
	}
	_ = json.Unmarshal(text, &m)
	return event{kind: m.Type, payload: m.Payload}
}

// closure waits for the end of the connection and returns why the server closed it.
func (c *socket) closure() websocket.CloseError {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if _, _, err := c.Read(ctx); err != nil {
			var closed websocket.CloseError
			require.ErrorAs(c.t, err, &closed)
			return closed
		}
	}
}

func (s *server) overSocket(query string, variables map[string]any, headers ...string) *stream {
	s.t.Helper()
	c := s.connect(headers...)
	c.subscribe("1", query, variables)
	events := make(chan event, 100)
	go func() {
		defer close(events)
		for e := c.receive(); e.kind != ""; e = c.receive() {
			events <- e
		}
	}()
	return &stream{t: s.t, events: events, close: func() { c.send(`{"type": "complete", "id": "1"}`) }}
}
