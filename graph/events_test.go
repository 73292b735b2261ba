package graph_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/graph"
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

func TestEventsBreakOffWithoutCompletionWhenTheServerStops(t *testing.T) {
	t.Parallel()
	closing := make(chan struct{})
	s := newServer(t, func(c *graph.Config) { c.Closing = closing })
	changes := s.overEvents(jobQuery, object{"id": s.newJob("a")})
	changes.data()
	close(closing)
	require.Equal(t, event{}, changes.next(), "so that the client asks again, another process perhaps")
}
