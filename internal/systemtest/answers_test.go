package systemtest

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

// cutter is a TCP proxy before a server. Of its first connections it takes the answer, which the server sends when it has
// committed, and hangs up instead of passing it on.
type cutter struct {
	listener net.Listener
	server   string
	toCut    int64
	accepted atomic.Int64
}

func newCutter(t *testing.T, p *process, toCut int64) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{listener: listener, server: strings.TrimPrefix(p.API, "http://"), toCut: toCut}
	go c.accept()
	t.Cleanup(func() { _ = listener.Close() })
	return c
}

func (c *cutter) accept() {
	for {
		down, err := c.listener.Accept()
		if err != nil {
			return
		}
		go c.pass(down, c.accepted.Add(1) <= c.toCut)
	}
}

func (c *cutter) pass(down net.Conn, cut bool) {
	defer down.Close()
	up, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer up.Close()
	go func() { _, _ = io.Copy(up, down) }()
	if cut {
		_, _ = up.Read(make([]byte, 4096))
		return
	}
	_, _ = io.Copy(down, up)
}

func TestConnectionKilledBetweenCommitAndAnswerLeavesOneJob(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	p := serve(t, url, withoutWorkers)
	proxy := newCutter(t, p, 2)
	batch := servertest.File(t, "orders.json", `[{"id":"order-1"},{"id":"order-2"}]`, 0o600)
	o := runProgram(t, asUser(p), binary(t),
		"job", "submit", batch, "--server", "http://"+proxy.listener.Addr().String(), "--output", "json")
	require.Equal(t, 0, o.code, o.stderr)
	require.Equal(t, 2, strings.Count(o.stderr, "trying again"), o.stderr)
	require.Equal(t, int64(3), proxy.accepted.Load())
	var accepted client.Accepted
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &accepted))
	require.True(t, accepted.Replayed, "the first attempt had made the job")

	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT job_record_id::text FROM etl_job_records`)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{accepted.ID.String()}, ids)
}
