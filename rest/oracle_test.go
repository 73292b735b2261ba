package rest_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// statements hears of each statement that the database runs for a request. Notices, which follow on a write some time later, are
// for none.
type statements struct {
	mu  sync.Mutex
	sql []string
}

var (
	_ pgx.QueryTracer = (*statements)(nil)
	_ pgx.BatchTracer = (*statements)(nil)
)

// note leaves out the notices, which are sent whenever the sender comes to it.
func (s *statements) note(sql string, args []any) {
	if strings.Contains(sql, "pg_notify") || slices.Contains(args, any("synchronous_commit")) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sql = append(s.sql, sql)
}

// take returns what was run since it was called last.
func (s *statements) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sql := s.sql
	s.sql = nil
	return sql
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.note(data.SQL, data.Args)
	return ctx
}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	s.note(data.SQL, data.Args)
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// traced is a pool like the given one, which it closes, with another tracer.
func traced(t testing.TB, pool *pgxpool.Pool, tracer pgx.QueryTracer) *pgxpool.Pool {
	t.Helper()
	config := pool.Config()
	pool.Close()
	config.ConnConfig.Tracer = tracer
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	return pool
}

// TestForeignAbsentAndMalformedIDsAreOneAnswer compares the answers byte for byte, and the statements that the database ran for
// each.
func TestForeignAbsentAndMalformedIDsAreOneAnswer(t *testing.T) {
	t.Parallel()
	ran := &statements{}
	w := newWorld(t, func(s *setup) { s.tracer = ran })
	foreign := w.do(http.MethodPost, jobsPath, batch, basic("bob"), "Content-Type: application/json", `Idempotency-Key: "canary"`)
	known := idIn(foreign.require(202).header.Get("Location"))
	const tail = "0000-7000-8000-000000000001"
	ids := []string{
		known, uuid.NewString(), uuid.Nil.String(), "x", strings.ToUpper(uuid.NewString()), "{" + uuid.NewString() + "}",
		"urn:uuid:" + uuid.NewString(), strings.ReplaceAll(uuid.NewString(), "-", ""), "x" + uuid.NewString() + "x",
		"%00", "%ff", "%2F", "..%2F", "%2e%2e", "0199c2f0-" + tail + ";a=b", "'", "*", strings.Repeat("a", 2000),
	}
	for name, ask := range map[string]func(path string) answer{
		"get":        func(path string) answer { return w.get(path) },
		"attempts":   func(path string) answer { return w.get(path + "/attempts") },
		"lineage":    func(path string) answer { return w.get(path + "/lineage") },
		"provenance": func(path string) answer { return w.get(path + "/provenance") },
		"cancel":     func(path string) answer { return w.cancel(path, `"canary"`) },
		"replay":     func(path string) answer { return w.replay(path, batch, `"canary"`) },
		"head":       func(path string) answer { return w.do(http.MethodHead, path, "") },
		"any tag":    func(path string) answer { return w.get(path, "If-None-Match: *") },
	} {
		var first answer
		var firstRun []string
		for i, id := range ids {
			ran.take()
			a := ask(jobsPath + "/" + id)
			run := ran.take()
			a.header.Del("Date")
			a.body = strings.Replace(a.body, `"instance":"`+a.path+`"`, `"instance":""`, 1)
			a.header.Del("Content-Length") // instance is part of the body
			if i == 0 {
				first, firstRun = a, run
			}
			require.NotEmpty(t, run, "%s %s", name, id)
			require.Equal(t, firstRun, run, "%s %s", name, id)
			require.Equal(t, job.CodeJobNotFound.Define().Status, a.status, "%s %s", name, id)
			require.Equal(t, first.header, a.header, "%s %s", name, id)
			require.Equal(t, first.body, a.body, "%s %s", name, id)
		}
	}
}
