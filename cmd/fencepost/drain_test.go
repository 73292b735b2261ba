package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/feed"
	"fencepost/internal/pgtest"
	"fencepost/internal/telemetry"
	"fencepost/internal/worker"
)

// halfRequest sends the beginning of a submission, and waits until the server asks for the rest.
func halfRequest(t *testing.T, p *process) (conn net.Conn, answers *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.api, "http://"))
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
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.api, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, patience, 10*time.Millisecond)
}

func TestRequestThatHasBegunIsFinishedAtTheStop(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t))
	conn, answers := halfRequest(t, p)
	p.stop()
	requireRefusesConnections(t, p)
	_, err := conn.Write([]byte("[]"))
	require.NoError(t, err)
	response, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	require.Equal(t, 0, p.end().code)
}

func TestRequestThatDoesNotFinishIsCutOffAtTheDrainTimeout(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--drain-timeout=0")
	halfRequest(t, p)
	o := p.end()
	require.Equal(t, 1, o.code)
	require.Contains(t, o.stderr, "requests were cut off")
}

func TestServerIsNotReadyFromTheStopOn(t *testing.T) {
	t.Parallel()
	b, err := openBackend(t.Context(), pgtest.URL(t), databaseOptions{poolSize: 2, lockTimeout: time.Second}, feed.Limits{})
	require.NoError(t, err)
	t.Cleanup(b.close)
	stopping, stop := context.WithCancel(t.Context())
	var o serveOptions
	handler, err := o.handler(stopping, b, usersFile(t), telemetry.NewMetrics(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)

	require.Equal(t, http.StatusOK, probe(handler, "/readyz"))
	stop()
	require.Equal(t, http.StatusServiceUnavailable, probe(handler, "/readyz"))
	require.Equal(t, http.StatusOK, probe(handler, "/livez"))
}

func probe(handler http.Handler, path string) int {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder.Code
}

// gate is a load that waits for a lock which the test holds.
type gate struct {
	conn *pgx.Conn
	file string
}

const gateNumber = 4711

func newGate(t *testing.T, url string) *gate {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.Direct(url))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, gateNumber)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "load.sql")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `SELECT pg_advisory_xact_lock(%d)`, gateNumber), 0o600))
	return &gate{conn, file}
}

func (g *gate) open(t *testing.T) {
	t.Helper()
	_, err := g.conn.Exec(t.Context(), `SELECT pg_advisory_unlock($1)`, gateNumber)
	require.NoError(t, err)
}

func (g *gate) status(t *testing.T) (status string) {
	t.Helper()
	require.NoError(t, g.conn.QueryRow(t.Context(), `SELECT job_status FROM etl_job_records`).Scan(&status))
	return status
}

func (g *gate) requireWaiting(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting bool
		err := g.conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waiting)
		return err == nil && waiting
	}, patience, 10*time.Millisecond)
}

func TestJobThatRunsIsFinishedAtTheStop(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	g := newGate(t, url)
	p := serve(t, url, "--load-sql-file", g.file)
	p.submit(t, "slow")
	g.requireWaiting(t)
	p.stop()
	requireRefusesConnections(t, p)
	require.Equal(t, "RUNNING", g.status(t))
	g.open(t)
	require.Equal(t, 0, p.end().code)
	require.Equal(t, "SUCCEEDED", g.status(t))
}

func TestJobThatDoesNotFinishIsLeftToItsLeaseAtTheDrainTimeout(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	g := newGate(t, url)
	p := serve(t, url, "--load-sql-file", g.file, "--drain-timeout=0")
	p.submit(t, "slow")
	g.requireWaiting(t)
	o := p.end()
	require.Equal(t, 1, o.code)
	require.Contains(t, o.stderr, worker.ErrDrainDeadline.Error())
	require.Equal(t, "RUNNING", g.status(t))
}
