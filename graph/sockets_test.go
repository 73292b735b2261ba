package graph_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/internal/feed"
)

const (
	introduction = `{"type": "connection_init"}`
	longRunning  = `{"type": "subscribe", "id": "1", "payload": {"query": "subscription {jobChanged(jobRecordId: \"ID\") {id}}"}}`
)

func TestEveryBreachOfTheProtocolHasItsCloseCode(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	subscribe := strings.Replace(longRunning, "ID", s.newJob("a"), 1)
	for name, breach := range map[string]struct {
		code     websocket.StatusCode
		messages []string
	}{
		"no JSON":                        {4400, []string{`hello`}},
		"nothing":                        {4400, []string{``}},
		"an array":                       {4400, []string{`[]`}},
		"two objects":                    {4400, []string{introduction + introduction}},
		"a repeated name":                {4400, []string{`{"type": "ping", "type": "ping"}`}},
		"not UTF-8 (RFC 6455)":           {4400, []string{"{\"type\": \"ping\", \"x\": \"\xff\"}"}},
		"no type":                        {4400, []string{`{}`}},
		"an unknown type":                {4400, []string{`{"type": "start", "id": "1"}`}},
		"a type of the server":           {4400, []string{`{"type": "connection_ack"}`}},
		"a payload that is no object":    {4400, []string{`{"type": "connection_init", "payload": 1}`}},
		"an id that is no text":          {4400, []string{introduction, `{"type": "complete", "id": 1}`}},
		"no id":                          {4400, []string{introduction, `{"type": "complete"}`}},
		"an empty id":                    {4400, []string{introduction, strings.Replace(subscribe, `"1"`, `""`, 1)}},
		"no payload":                     {4400, []string{introduction, `{"type": "subscribe", "id": "1"}`}},
		"no query":                       {4400, []string{introduction, `{"type": "subscribe", "id": "1", "payload": {"variables": {}}}`}},
		"variables that are no object":   {4400, []string{introduction, `{"type": "subscribe", "id": "1", "payload": {"query": "{__typename}", "variables": []}}`}},
		"subscribe before the beginning": {4401, []string{subscribe}},
		"two introductions":              {4429, []string{introduction, introduction}},
		"an id that is in use":           {4409, []string{introduction, subscribe, subscribe}},
		"a message that is too long":     {1009, []string{introduction, `{"type": "ping", "payload": {"x": "` + strings.Repeat("x", 64<<10) + `"}}`}},
	} {
		c := s.open()
		for _, message := range breach.messages {
			c.send(message)
		}
		closed := c.closure()
		require.Equal(t, breach.code, closed.Code, name)
		require.NotContains(t, closed.Reason, "hello", name)
	}
}

func TestABinaryMessageIsABreach(t *testing.T) {
	t.Parallel()
	c := newServer(t).open()
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte(introduction)))
	require.EqualValues(t, 4400, c.closure().Code)
}

func TestTheSubprotocolMustBeKnown(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, offered := range [][]string{{}, {"graphql-ws"}} {
		conn, _, err := s.dial(websocket.DialOptions{Subprotocols: offered})
		require.NoError(t, err)
		require.EqualValues(t, 4406, (&socket{t, conn}).closure().Code)
	}
	conn, _, err := s.dial(websocket.DialOptions{Subprotocols: []string{"graphql-ws", "graphql-transport-ws"}})
	require.NoError(t, err)
	require.Equal(t, "graphql-transport-ws", conn.Subprotocol())
	require.NoError(t, conn.Close(websocket.StatusNormalClosure, ""))
}

func TestAHandshakeIsRefusedWithAStatus(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *graph.Config) { c.WebSockets = feed.NewQuota(feed.Limits{PerOwner: 1, Total: 1}) })
	refused := func(status int, headers ...string) string {
		t.Helper()
		get := append([]string{"Upgrade", "websocket", "Connection", "keep-alive, Upgrade", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}, headers...)
		got := s.send(http.MethodGet, s.url, "", get...)
		require.Equal(t, status, got.status, got.body)
		require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
		return at(t, got.json(t), "errors", 0, "extensions", "code").(string)
	}
	require.Equal(t, "UNAUTHENTICATED", refused(401, "As", "nobody"))
	require.Equal(t, "FORBIDDEN", refused(403, "Origin", "https://elsewhere.example"))
	require.Equal(t, "FORBIDDEN", refused(403, "Sec-Fetch-Site", "same-site"))
	require.Equal(t, "BAD_REQUEST", refused(400, "Sec-WebSocket-Version", "12"))
	s.open()
	require.Equal(t, "TOO_MANY_STREAMS", refused(429, "Sec-WebSocket-Version", "13"))
}

func TestThePagesOfTheServerMayOpenASocket(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.open("Origin", strings.TrimSuffix(s.url, "/graphql"))
	s.open("Origin", "https://behind.example", "Sec-Fetch-Site", "same-origin")
}

// RFC 9110 section 7.8: a server may ignore Upgrade, and must when Connection does not name it.
func TestOtherUpgradesAreIgnored(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, headers := range [][]string{{"Upgrade", "h2c", "Connection", "Upgrade"}, {"Upgrade", "websocket"}} {
		require.Equal(t, 200, s.post("{__typename}", nil, headers...).status)
		require.Equal(t, 200, s.send(http.MethodGet, s.url+"?query=%7B__typename%7D", "", headers...).status)
	}
	require.Equal(t, 200, s.post("{__typename}", nil, "Upgrade", "websocket", "Connection", "Upgrade").status)
}

func TestOneSocketCarriesManyOperations(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.connect()
	c.send(`{"type": "ping", "payload": {"x": 1}}`)
	require.Equal(t, "pong", c.receive().kind)
	c.send(`{"type": "pong", "payload": null}`)
	c.send(`{"type": "complete", "id": "never begun"}`)

	c.subscribe("1", jobQuery, object{"id": s.newJob("a")})
	require.Equal(t, "next", c.receive().kind)
	c.subscribe("2", "{__typename}", nil)
	require.Equal(t, event{"next", map[string]any{"data": map[string]any{"__typename": "Query"}}}, c.receive())
	require.Equal(t, "complete", c.receive().kind)
	c.subscribe("2", "{", nil)
	require.Equal(t, "error", c.receive().kind)
	c.subscribe("2", "{__typename}", nil) // nothing came behind the error, and the id is free
	require.Equal(t, "next", c.receive().kind)
	require.Equal(t, "complete", c.receive().kind)

	c.send(`{"type": "complete", "id": "1"}`)
	c.subscribe("1", "{__typename}", nil) // free at once
	require.Equal(t, "next", c.receive().kind)
	require.Equal(t, "complete", c.receive().kind)
}

func TestAConnectionRunsAHundredOperationsAtMost(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.connect()
	id := s.newJob("a")
	for i := range 100 {
		c.subscribe(fmt.Sprint(i), jobQuery, object{"id": id})
		require.Equal(t, "next", c.receive().kind)
	}
	c.subscribe("one more", jobQuery, object{"id": id})
	refused := c.receive()
	require.Equal(t, "error", refused.kind)
	require.Equal(t, "TOO_MANY_STREAMS", at(t, refused.payload, 0, "extensions", "code"))
	c.send(`{"type": "complete", "id": "7"}`)
	c.subscribe("one more", jobQuery, object{"id": id})
	require.Equal(t, "next", c.receive().kind)
}

func TestASocketIsClosedWhenTheServerStops(t *testing.T) {
	t.Parallel()
	closing := make(chan struct{})
	s := newServer(t, func(c *graph.Config) { c.Closing = closing })
	c := s.connect()
	c.subscribe("1", jobQuery, object{"id": s.newJob("a")})
	require.Equal(t, "next", c.receive().kind)
	close(closing)
	require.Equal(t, websocket.StatusGoingAway, c.closure().Code)
}
