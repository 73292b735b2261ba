package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// followEvents subscribes to the job at a URL, over server-sent events.
func (p *process) followEvents(t *testing.T, jobURL string) *bufio.Scanner {
	t.Helper()
	id := jobURL[strings.LastIndex(jobURL, "/")+1:]
	body := `{"query": "subscription {jobChanged(jobRecordId: \"` + id + `\") {status}}"}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.api+"/graphql", strings.NewReader(body))
	require.NoError(t, err)
	request.SetBasicAuth(name, password)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return bufio.NewScanner(response.Body)
}

// requireEvent reads on until a line contains a text.
func requireEvent(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), want) {
			return
		}
	}
	require.Fail(t, "the stream has ended", "without %s", want)
}

func TestAJobIsFollowedWhicheverProcessRunsIt(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	p := serve(t, url, "--workers=0")
	job := p.submit(t, "k")
	lines := p.followEvents(t, job)
	requireEvent(t, lines, "PENDING")
	other := serve(t, url)
	requireEvent(t, lines, "SUCCEEDED")
	requireEvent(t, lines, "event: complete")
	requireEvent(t, other.followEvents(t, other.submit(t, "l")), "SUCCEEDED")
}

func TestStreamsEndAtTheStop(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0")
	lines := p.followEvents(t, p.submit(t, "k"))
	requireEvent(t, lines, "PENDING")
	header := http.Header{}
	credentials, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.api, nil)
	credentials.SetBasicAuth(name, password)
	header.Set("Authorization", credentials.Header.Get("Authorization"))
	socket, _, err := websocket.Dial(t.Context(), p.api+"/graphql", &websocket.DialOptions{
		HTTPHeader: header, Subprotocols: []string{"graphql-transport-ws"},
	})
	require.NoError(t, err)
	p.stop()
	_, _, err = socket.Read(t.Context())
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
	for lines.Scan() {
		require.NotContains(t, lines.Text(), "complete")
	}
	require.NotErrorIs(t, lines.Err(), io.ErrUnexpectedEOF)
	require.Equal(t, 0, p.end().code)
}

func TestTheLimitsOfStreamsAreFlags(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--max-streams=0", "--max-streams-per-owner=0"} {
		p := serve(t, pgtest.URL(t), "--workers=0", flag)
		requireEvent(t, p.followEvents(t, p.submit(t, "k")), "TOO_MANY_STREAMS")
	}
}
