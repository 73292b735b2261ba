package systemtest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/worker"
)

// halfRequest sends the beginning of a submission, and waits until the server asks for the rest.
func halfRequest(t *testing.T, p *process) (conn net.Conn, answers *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.API, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	request := httptest.NewRequest(http.MethodPost, "/", nil)
	request.SetBasicAuth(name, password)
	fmt.Fprintf(conn, "POST /api/etl/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nIdempotency-Key: half\r\n"+
		"Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", request.Header.Get("Authorization"))
	answers = bufio.NewReader(conn)
	line, err := answers.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue")
	_, err = answers.ReadString('\n')
	require.NoError(t, err)
	return conn, answers
}

func requireRefusesConnections(t *testing.T, p *process) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.API, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, patience, 10*time.Millisecond)
}

// withoutPatience has a server cut off what runs at its stop.
func withoutPatience(c *server.Config) { c.Worker.DrainTimeout = 0 }

func TestRequestThatHasBegunIsFinishedAtTheStop(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t))
	conn, answers := halfRequest(t, p)
	p.Stop()
	requireRefusesConnections(t, p)
	_, err := conn.Write([]byte("[]"))
	require.NoError(t, err)
	response, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	require.NoError(t, p.End())
}

func TestRequestThatDoesNotFinishIsCutOffAtTheDrainTimeout(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), withoutPatience)
	halfRequest(t, p)
	require.ErrorContains(t, p.End(), "requests were cut off")
}

func TestJobThatRunsIsFinishedAtTheStop(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	g := pgtest.NewGate(t, url)
	p := serve(t, url, loading(g.LoadFile))
	p.Submit(t, "slow")
	g.RequireWaiting(t)
	p.Stop()
	requireRefusesConnections(t, p)
	require.Equal(t, "RUNNING", g.Status(t))
	g.Open(t)
	require.NoError(t, p.End())
	require.Equal(t, "SUCCEEDED", g.Status(t))
}

func TestJobThatDoesNotFinishIsLeftToItsLeaseAtTheDrainTimeout(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	g := pgtest.NewGate(t, url)
	p := serve(t, url, loading(g.LoadFile), withoutPatience)
	p.Submit(t, "slow")
	g.RequireWaiting(t)
	require.ErrorIs(t, p.End(), worker.ErrDrainDeadline)
	require.Equal(t, "RUNNING", g.Status(t))
}
