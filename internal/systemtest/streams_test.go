package systemtest

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"fencepost/internal/feed"
	"fencepost/internal/pgtest"
	"fencepost/internal/server"
)

// followEvents subscribes to the job at a URL, over server-sent events.
func followEvents(t *testing.T, p *process, jobURL string) *bufio.Scanner {
	t.Helper()
	id := jobURL[strings.LastIndex(jobURL, "/")+1:]
	body := `{"query": "subscription {jobChanged(jobRecordId: \"` + id + `\") {status}}"}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.API+"/graphql", strings.NewReader(body))
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
	p := serve(t, url, withoutWorkers)
	job := p.Submit(t, "k")
	lines := followEvents(t, p, job)
	requireEvent(t, lines, "PENDING")
	other := serve(t, url)
	requireEvent(t, lines, "SUCCEEDED")
	requireEvent(t, lines, "event: complete")
	requireEvent(t, followEvents(t, other, other.Submit(t, "l")), "SUCCEEDED")
}

func TestStreamsEndAtTheStop(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), withoutWorkers)
	lines := followEvents(t, p, p.Submit(t, "k"))
	requireEvent(t, lines, "PENDING")
	header := http.Header{}
	credentials, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.API, nil)
	credentials.SetBasicAuth(name, password)
	header.Set("Authorization", credentials.Header.Get("Authorization"))
	socket, _, err := websocket.Dial(t.Context(), p.API+"/graphql", &websocket.DialOptions{
		HTTPHeader: header, Subprotocols: []string{"graphql-transport-ws"},
	})
	require.NoError(t, err)
	p.Stop()
	_, _, err = socket.Read(t.Context())
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
	for lines.Scan() {
		require.NotContains(t, lines.Text(), "complete")
	}
	require.NotErrorIs(t, lines.Err(), io.ErrUnexpectedEOF)
	require.NoError(t, p.End())
}

func TestTheLimitsOfStreamsAreSettings(t *testing.T) {
	t.Parallel()
	for _, limits := range []feed.Limits{{PerOwner: 100}, {Total: 1000}} {
		p := serve(t, pgtest.URL(t), withoutWorkers, func(c *server.Config) { c.Streams = limits })
		requireEvent(t, followEvents(t, p, p.Submit(t, "k")), "TOO_MANY_STREAMS")
	}
}
