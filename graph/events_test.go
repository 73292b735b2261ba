package graph_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/internal/feed"
	"fencepost/internal/job"
	"fencepost/internal/worker"
)

func TestEventsAreSentOnlyWhenNoJSONIsAcceptable(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for accept, want := range map[string]string{
		"text/event-stream":                       "text/event-stream",
		"text/event-stream, application/json;q=0": "text/event-stream",
		"text/*": "text/event-stream",
		"text/event-stream, application/json;q=0.1":              "application/json",
		"text/event-stream, */*;q=0.1":                           "application/json",
		"application/graphql-response+json, text/event-stream":   "application/graphql-response+json",
		"application/*;q=0.1, application/json;q=0, text/html":   "application/graphql-response+json",
		"text/event-stream;q=0, application/json;q=0, */*;q=0.0": "application/json", // 406
	} {
		got := s.post("{__typename}", nil, "Accept", accept)
		require.Equal(t, want+"; charset=utf-8", got.header.Get("Content-Type"), accept)
	}
}

func TestTheEventsOfAnAnswerAreThoseOfTheProtocol(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	got := s.post("{__typename}", nil, "Accept", "text/event-stream")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, ":\n\nevent: next\ndata: {\"data\":{\"__typename\":\"Query\"}}\n\nevent: complete\ndata:\n\n", got.body)
	require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	require.Equal(t, "no", got.header.Get("X-Accel-Buffering"))
}

// A browser's EventSource only sends GET.
func TestEventsAreReadByGetToo(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.cancelledJob("a")
	query := "?query=" + url.QueryEscape(`subscription {jobChanged(jobRecordId: "`+id+`") {status}}`)
	got := s.send(http.MethodGet, s.url+query, "", "Accept", "text/event-stream")
	require.Contains(t, got.body, `data: {"data":{"jobChanged":{"status":"CANCELLED"}}}`)
	change := "?query=" + url.QueryEscape(`mutation {cancelJob(input: {jobRecordId: "x", idempotencyKey: "k"}) {__typename}}`)
	got = s.send(http.MethodGet, s.url+change, "", "Accept", "text/event-stream")
	require.Equal(t, http.StatusMethodNotAllowed, got.status)
	require.Equal(t, http.MethodPost, got.header.Get("Allow"))
}

func TestAMalformedRequestForEventsHasAStatus(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	got := s.send(http.MethodPost, s.url, "[]", "Content-Type", "application/json", "Accept", "text/event-stream")
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
	require.Equal(t, "BAD_REQUEST", at(t, got.json(t), "errors", 0, "extensions", "code"))
}

func TestASilentStreamShowsThatItLives(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *graph.Config) { c.KeepAlive = time.Millisecond })
	lines := bufio.NewReader(s.openEvents(jobQuery, object{"id": s.newJob("a")}).Body)
	comments := 0
	for comments < 5 {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if strings.HasPrefix(line, ":") {
			comments++
		}
	}
}

func TestStreamsOutliveTheTimeoutsOfRequests(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		const timeout = 2 * time.Second // in which a busy machine reads the request, too
		s := newStreamServer(t)
		id := s.newJob("a")
		s.url = serve(t, s.handler, func(c *http.Server) { c.ReadTimeout, c.WriteTimeout = timeout, timeout })
		changes := subscribe(s, jobQuery, object{"id": id})
		changes.data()
		<-time.After(timeout) // which the system's clock measures; both began before the first event
		s.url = serve(t, s.handler)
		s.cancel(id, "c")
		require.Equal(t, "CANCELLED", changes.data("jobChanged", "status"))
		changes.requireComplete()
	})
}

func TestEventsBreakOffWithoutCompletionWhenTheServerStops(t *testing.T) {
	t.Parallel()
	closing := make(chan struct{})
	s := newServer(t, func(c *graph.Config) { c.Closing = closing })
	changes := s.overEvents(jobQuery, object{"id": s.newJob("a")})
	changes.data()
	close(closing)
	require.Equal(t, event{}, changes.next(), "so that the client asks again, another process perhaps")
}

// largeQuery has an answer of about half a megabyte for a lineage of 50 jobs.
func largeQuery() string {
	return `subscription($id: ID!) {lineageChanged(jobRecordId: $id) {` +
		repeat(9, func(i int) string { return fmt.Sprintf("p%d: provenance ", i) }) + `}}`
}

// ignorers subscribe, and read nothing of what comes but the beginning of the first event.
var ignorers = map[string]func(s *server, query string, variables map[string]any){
	"server-sent events": func(s *server, query string, variables map[string]any) {
		body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
		require.NoError(s.t, err)
		conn := s.tcp()
		_, err = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Accept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		require.NoError(s.t, err)
		s.requireLargeAnswer(conn)
	},
	"WebSocket": func(s *server, query string, variables map[string]any) {
		c := s.connect()
		c.subscribe("1", query, variables)
		_, message, err := c.Reader(s.t.Context())
		require.NoError(s.t, err)
		s.requireLargeAnswer(message)
	},
}

func (s *server) requireLargeAnswer(from io.Reader) {
	s.t.Helper()
	beginning := make([]byte, 4<<10)
	_, err := io.ReadFull(from, beginning)
	require.NoError(s.t, err)
	require.Contains(s.t, string(beginning), `"data":{"lineageChanged":{"p0":"`)
}

func TestAClientThatDoesNotReadLosesItsStream(t *testing.T) {
	t.Parallel()
	for name, ignore := range ignorers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStreamServer(t, func(c *graph.Config) {
				c.ClientTimeout = 2 * time.Second // in which a client that does read must introduce itself
				c.Feed = feed.New(feed.Config{Limits: feed.Limits{PerOwner: 1, Total: 1}})
			})
			root := s.cancelledJob("a")
			for i := range 50 {
				s.cancel(at(t, s.replay(root, batch, fmt.Sprintf("r%d", i)), "job", "id").(string), "c")
			}
			s.replay(root, batch, "active")
			ignore(s, largeQuery(), object{"id": root})
			require.Eventually(t, func() bool {
				require.NoError(t, s.store.Retry(t.Context(), s.claim(), worker.Return{Outcome: job.AttemptRetried})) // two changes
				only := s.overEvents(jobQuery, object{"id": root}).next()
				return at(t, only.payload, "errors") == nil
			}, 2*patience, 10*time.Millisecond, "there is room for another stream")
		})
	}
}
