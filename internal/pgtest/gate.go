package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// GateNumber is the advisory lock that a [Gate] holds.
const GateNumber = 4711

// Gate is a load that waits for a lock which the test holds.
type Gate struct {
	// LoadFile holds the load statement, for --load-sql-file. The test may write another one that takes the lock.
	LoadFile string

	conn *pgx.Conn
}

// NewGate makes a gate that is closed, on a database of its own.
func NewGate(t *testing.T, url string) *Gate {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), Direct(url))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, GateNumber)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "load.sql")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `SELECT pg_advisory_xact_lock(%d), @records::jsonb`, GateNumber), 0o600))
	return &Gate{file, conn}
}

// Open lets the loads go on.
func (g *Gate) Open(t *testing.T) {
	t.Helper()
	_, err := g.conn.Exec(t.Context(), `SELECT pg_advisory_unlock($1)`, GateNumber)
	require.NoError(t, err)
}

// Status is that of the one job of the database.
func (g *Gate) Status(t *testing.T) (status string) {
	t.Helper()
	require.NoError(t, g.conn.QueryRow(t.Context(), `SELECT job_status FROM etl_job_records`).Scan(&status))
	return status
}

// RequireWaiting waits until a load waits before the gate.
func (g *Gate) RequireWaiting(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting bool
		err := g.conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waiting)
		return err == nil && waiting
	}, time.Minute, 10*time.Millisecond)
}
