package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/servertest"
)

func TestServeRunsAJobFromEitherDoor(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t))
	job := p.Submit(t, "rest")
	servertest.RequireSuccess(t, job)

	a := servertest.Call(t, http.MethodPost, p.API+"/graphql", `{"query":"{ jobs { nodes { status } } }"}`)
	require.JSONEq(t, `{"data":{"jobs":{"nodes":[{"status":"SUCCEEDED"}]}}}`, string(a.Body))
	require.Equal(t, "1", p.Counted(t, `fencepost_jobs_created_total{kind="root"}`))
	require.Equal(t, "1", p.Counted(t, `fencepost_jobs_ended_total{status="SUCCEEDED"}`))
	require.Equal(t, "1", p.Counted(t, `fencepost_worker_outcomes_total{outcome="succeeded"}`))
	require.NoError(t, p.End())
}

func TestBothDoorsAndThePagesWantCredentials(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	for _, path := range []string{"/graphql", "/api/etl/jobs", "/playground", "/lineage"} {
		a := servertest.CallAs(t, http.DefaultClient, servertest.Name, "wrong password", http.MethodGet, p.API+path, "")
		require.Equal(t, http.StatusUnauthorized, a.Status, path)
		require.Contains(t, a.Header.Get("WWW-Authenticate"), "Basic")
	}
}

func TestPagesAreServedBesideTheDoors(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	for _, path := range []string{"/playground", "/lineage", "/lineage/any"} {
		a := servertest.Call(t, http.MethodGet, p.API+path, "")
		require.Equal(t, http.StatusOK, a.Status, path)
		require.Contains(t, string(a.Body), "<!doctype html>")
	}
}

func TestPathIsComparedAsItWasSent(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	for _, path := range []string{"/graphql/", "//graphql", "/%67raphql", "/x/../graphql", "/lineage/", "/%6cineage"} {
		require.Equal(t, http.StatusNotFound, servertest.Call(t, http.MethodGet, p.API+path, "").Status, path)
	}
}

// The OpenAPI document lists every path of REST, so a new one that nobody counts shows here.
func TestEveryPathIsCountedByItsRoute(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	var document struct {
		Paths map[string]any `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(servertest.Call(t, http.MethodGet, p.API+"/openapi.json", "").Body, &document))
	require.NotEmpty(t, document.Paths)
	paths := []string{"/graphql"}
	for path := range document.Paths {
		paths = append(paths, path)
	}
	for _, template := range paths {
		before, after, parameter := strings.Cut(template, "{")
		path, route := template, template
		if parameter {
			_, rest, _ := strings.Cut(after, "}")
			path, route = before+"some-id"+rest, before+"{id}"+rest
		}
		servertest.Call(t, http.MethodPatch, p.API+path, "")
		series := fmt.Sprintf(`fencepost_http_request_seconds_count{route=%q,status="4xx"}`, route)
		require.Equal(t, "1", p.Counted(t, series), route)
	}
}

func TestProblemsAreCountedByCode(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	servertest.Call(t, http.MethodGet, p.API+"/api/etl/jobs/unknown", "")
	series := `fencepost_http_requests_total{code="etl_job_not_found",method="GET",route="/api/etl/jobs/{id}",status="4xx"}`
	require.Equal(t, "1", p.Counted(t, series))
}

func TestLoadStatementIsReadAtTheStart(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	pool := pgtest.SuperuserPool(t, url)
	_, err := pool.Exec(t.Context(), `CREATE TABLE target_rows (record_id text); GRANT INSERT ON target_rows TO fencepost_server`)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "load.sql")
	statement := `INSERT INTO target_rows SELECT r ->> 'id' FROM jsonb_array_elements(@records::jsonb) AS r`
	require.NoError(t, os.WriteFile(file, []byte(statement), 0o600))

	p := servertest.Serve(t, url, servertest.Loading(file))
	servertest.RequireSuccess(t, p.Submit(t, "load"))
	var id string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT record_id FROM target_rows`).Scan(&id))
	require.Equal(t, "a", id)
}

func TestIntrospectionCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	const query = `{"query":"{ __schema { queryType { name } } }"}`
	on := servertest.Serve(t, url, servertest.WithoutWorkers)
	require.Contains(t, string(servertest.Call(t, http.MethodPost, on.API+"/graphql", query).Body), `"queryType"`)
	off := servertest.Serve(t, url, servertest.WithoutWorkers, func(c *server.Config) { c.Introspection = false })
	require.NotContains(t, string(servertest.Call(t, http.MethodPost, off.API+"/graphql", query).Body), `"queryType"`)
}

func TestRatesAreLimitedPerOwner(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers, func(c *server.Config) { c.Rates.Submit = 0.001 })
	p.Submit(t, "first")
	a := servertest.Call(t, http.MethodPost, p.API+"/api/etl/jobs", `[]`, "Idempotency-Key", "second")
	require.Equal(t, http.StatusTooManyRequests, a.Status)
}

func TestLogLinesNameNoJobAndNoUser(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t))
	job := p.Submit(t, "a-key-of-ann")
	servertest.RequireSuccess(t, job)
	require.NoError(t, p.End())
	for line := range strings.Lines(p.Log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Contains(t, p.Log.String(), `"msg":"request answered"`)
	require.Contains(t, p.Log.String(), `"outcome":"succeeded"`)
	for _, secret := range []string{filepath.Base(job), "a-key-of-ann", `"ann"`, servertest.Password} {
		require.NotContains(t, p.Log.String(), secret)
	}
}

func TestWorkerIsNotReadyWhileItsLoadIsClosed(t *testing.T) {
	t.Parallel()
	url := pgtest.Direct(pgtest.URL(t))
	admin := pgtest.SuperuserPool(t, url)
	alter := func(sql string) {
		_, err := admin.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	alter("CREATE TABLE prices (item text); GRANT INSERT ON prices TO PUBLIC")
	file := servertest.File(t, "load.sql", "INSERT INTO prices SELECT r.id FROM jsonb_to_recordset(@records::jsonb) AS r (id text)", 0o600)
	w := servertest.Work(t, url, func(c *server.WorkerConfig) { c.Database.LoadSQLFile = file })
	ready := func() int { return servertest.Call(t, http.MethodGet, w.Admin+"/readyz", "").Status }
	require.Equal(t, http.StatusOK, ready())

	alter("ALTER TABLE prices RENAME TO gone")
	job := servertest.Serve(t, url, servertest.WithoutWorkers).Submit(t, "key")
	require.Eventually(t, func() bool { return ready() == http.StatusServiceUnavailable }, time.Minute, time.Millisecond)
	require.Equal(t, "0", w.Counted(t, `fencepost_load_open{load="default"}`))
	alter("ALTER TABLE gone RENAME TO prices")
	servertest.RequireSuccess(t, job)
	pgtest.Eventually(t, "the load to open, behind the job that got past it", func() bool { return ready() == http.StatusOK })
	require.Equal(t, "1", w.Counted(t, `fencepost_load_open{load="default"}`))
	alter("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
	for range 2 {
		require.Equal(t, http.StatusServiceUnavailable, ready(), "nor on a schema that it does not know")
	}
	require.Equal(t, 1, strings.Count(w.Log.String(), `"msg":"the schema is not that of this program","version":99999`), w.Log)
}

func TestFailureIsToldByGraphQLWithTheConstraintWhereNamesMayBeTold(t *testing.T) {
	t.Parallel()
	url := pgtest.Direct(pgtest.URL(t))
	_, err := pgtest.SuperuserPool(t, url).Exec(t.Context(), "CREATE TABLE prices (item text CONSTRAINT prices_item CHECK (item <> 'a')); GRANT INSERT ON prices TO PUBLIC")
	require.NoError(t, err)
	file := servertest.File(t, "load.sql", "INSERT INTO prices SELECT r.id FROM jsonb_to_recordset(@records::jsonb) AS r (id text)", 0o600)
	p := servertest.Serve(t, url, servertest.Loading(file), func(c *server.Config) { c.Database.ExplainNames = true })
	servertest.Call(t, http.MethodPost, p.API+"/api/etl/jobs", `[{"id":"b"},{"id":"a"}]`, "Idempotency-Key", "key")
	const query = `{"query":"{ jobs { nodes { failureCode failureSqlState failureCondition failureRecordOrdinal failureConstraint } } }"}`
	const told = `{"failureCode":"etl_target_failure","failureSqlState":"23514","failureCondition":"check_violation",` +
		`"failureRecordOrdinal":2,"failureConstraint":"prices_item"}`
	require.Eventually(t, func() bool {
		return strings.Contains(string(servertest.Call(t, http.MethodPost, p.API+"/graphql", query).Body), told)
	}, time.Minute, time.Millisecond)
}
