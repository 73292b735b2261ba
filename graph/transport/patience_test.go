package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"fencepost/graph/fault"
	"fencepost/graph/generated"
	"fencepost/graph/transport"
)

// The times of these tests are those of a bubble: they pass when everybody waits, so each is met to the nanosecond.
const (
	keepAlive     = 15 * time.Second
	clientTimeout = 10 * time.Second
)

// network is one in memory, whose connections hold nothing between writer and reader.
type network struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (n network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.accepted:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n network) Close() error   { close(n.closed); return nil }
func (n network) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (n network) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	n.accepted <- server
	return client, nil
}

// teller is an endpoint in a bubble. Its operation tells what comes from the channel, until the client is gone.
type teller struct {
	t       *testing.T
	network network
	client  *http.Client
	told    chan string
	ended   chan struct{}
}

// inBubble tests an endpoint whose requests have timeouts that are far shorter than those of its streams.
func inBubble(t *testing.T, test func(e *teller)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &teller{
			t: t, network: network{make(chan net.Conn), make(chan struct{})},
			told: make(chan string), ended: make(chan struct{}),
		}
		connections := &http.Transport{DialContext: e.network.dial}
		e.client = &http.Client{Transport: connections}
		server := &http.Server{Handler: e.handler(), ReadTimeout: time.Second, WriteTimeout: time.Second}
		go func() { _ = server.Serve(e.network) }()
		t.Cleanup(func() { connections.CloseIdleConnections(); _ = server.Close() })
		test(e)
	})
}

func (e *teller) handler() http.Handler {
	server := handler.New(generated.NewExecutableSchema(generated.Config{}))
	transport.Install(server, transport.Streams{
		KeepAlive: keepAlive, ClientTimeout: clientTimeout, Places: enough{},
		Failed: func(context.Context, any) *gqlerror.Error { return fault.Internal() },
	})
	server.AroundOperations(func(context.Context, graphql.OperationHandler) graphql.ResponseHandler { return e.tell })
	return transport.Gate(server, 1<<20)
}

func (e *teller) tell(ctx context.Context) *graphql.Response {
	select {
	case text := <-e.told:
		return &graphql.Response{Data: fmt.Appendf(nil, `{"told":%q}`, text)}
	case <-ctx.Done():
		close(e.ended)
		return nil
	}
}

// requireEnd wants the operation to end after exactly so much time.
func (e *teller) requireEnd(after time.Duration) {
	e.t.Helper()
	began := time.Now()
	<-e.ended
	require.Equal(e.t, after, time.Since(began))
}

// open opens a WebSocket without saying anything on it.
func (e *teller) open(pinged func() bool) socket {
	e.t.Helper()
	conn, _, err := websocket.Dial(e.t.Context(), "ws://memory/graphql", &websocket.DialOptions{
		HTTPClient: e.client, Subprotocols: []string{"graphql-transport-ws"},
		OnPingReceived: func(context.Context, []byte) bool { return pinged() },
	})
	require.NoError(e.t, err)
	e.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(-1)
	return socket{conn, e.t}
}

func always() bool { return true }

// connect opens a WebSocket and introduces itself.
func (e *teller) connect(pinged func() bool) socket {
	e.t.Helper()
	s := e.open(pinged)
	s.say(initialise)
	kind, _ := s.hear()
	require.Equal(e.t, "connection_ack", kind)
	return s
}

// streams ask the endpoint, and return what reads the answers.
var streams = map[string]func(e *teller) io.Reader{
	"server-sent events": func(e *teller) io.Reader {
		request, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, "http://memory/graphql",
			strings.NewReader(`{"query": "{__typename}"}`))
		require.NoError(e.t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "text/event-stream")
		conn, err := e.network.dial(e.t.Context(), "", "")
		require.NoError(e.t, err)
		e.t.Cleanup(func() { _ = conn.Close() })
		require.NoError(e.t, request.Write(conn))
		return conn
	},
	"WebSocket": func(e *teller) io.Reader {
		s := e.connect(always)
		s.say(typename)
		return &messages{socket: s}
	},
}

// messages are those of a WebSocket as one text.
type messages struct {
	socket
	current io.Reader
}

func (m *messages) Read(into []byte) (int, error) {
	if m.current == nil {
		_, reader, err := m.Reader(m.t.Context())
		if err != nil {
			return 0, err
		}
		m.current = reader
	}
	n, err := m.current.Read(into)
	if errors.Is(err, io.EOF) {
		m.current, err = nil, nil
	}
	return n, err
}

func eachStream(t *testing.T, test func(e *teller, answers io.Reader)) {
	t.Helper()
	for name, ask := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(e *teller) { test(e, ask(e)) })
		})
	}
}

// requireTold reads up to a text.
func requireTold(t *testing.T, from io.Reader, text string) {
	t.Helper()
	var read strings.Builder
	for part := make([]byte, 1); !strings.HasSuffix(read.String(), text); {
		n, err := from.Read(part)
		require.NoError(t, err, read.String())
		read.Write(part[:n])
	}
}

func TestStreamsOutliveTheTimeoutsOfRequests(t *testing.T) {
	t.Parallel()
	eachStream(t, func(e *teller, answers io.Reader) {
		go func() {
			e.told <- "first"
			<-time.After(time.Hour)
			e.told <- "second"
		}()
		requireTold(e.t, answers, "first")
		requireTold(e.t, answers, "second")
	})
}

func TestAClientThatDoesNotReadLosesItsStream(t *testing.T) {
	t.Parallel()
	eachStream(t, func(e *teller, answers io.Reader) {
		go func() { e.told <- "beginning" + strings.Repeat(".", 1<<20) }()
		requireTold(e.t, answers, "beginning")
		e.requireEnd(clientTimeout)
	})
}

func TestAClientThatDoesNotIntroduceItselfIsClosed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(e *teller) {
		s, began := e.open(always), time.Now()
		require.EqualValues(t, 4408, s.closure())
		require.Equal(t, clientTimeout, time.Since(began))
	})
}

func TestAMessageMustFollowItsBeginningSoon(t *testing.T) {
	t.Parallel()
	inBubble(t, func(e *teller) {
		s := e.connect(always)
		message, err := s.Writer(e.t.Context(), websocket.MessageText)
		require.NoError(e.t, err)
		_, err = message.Write([]byte(strings.Repeat(" ", 16<<10))) // the first frame, without a last one
		require.NoError(e.t, err)
		began := time.Now()
		s.closure()
		require.Equal(e.t, clientTimeout, time.Since(began))
	})
}

func TestAClientThatDoesNotAnswerPingsIsCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(e *teller) {
		const answered = 5
		pings, began := 0, time.Now()
		s := e.connect(func() bool { pings++; return pings <= answered })
		s.closure()
		require.Equal(e.t, answered+1, pings)
		require.Equal(e.t, (answered+1)*keepAlive+clientTimeout, time.Since(began))
	})
}
