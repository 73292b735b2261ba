package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

func TestServeRunsAJobFromEitherDoor(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t))
	job := p.submit(t, "rest")
	requireSuccess(t, job)

	a := call(t, http.MethodPost, p.api+"/graphql", `{"query":"{ jobs { nodes { status } } }"}`)
	require.JSONEq(t, `{"data":{"jobs":{"nodes":[{"status":"SUCCEEDED"}]}}}`, string(a.body))
	require.Equal(t, "1", p.counted(t, `fencepost_jobs_created_total{kind="root"}`))
	require.Equal(t, "1", p.counted(t, `fencepost_jobs_ended_total{status="SUCCEEDED"}`))
	require.Equal(t, "1", p.counted(t, `fencepost_worker_outcomes_total{outcome="succeeded"}`))
	require.Equal(t, 0, p.end().code)
}

func TestBothDoorsAndThePagesWantCredentials(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0")
	for _, path := range []string{"/graphql", "/api/etl/jobs", "/playground", "/lineage"} {
		a := callAs(t, http.DefaultClient, name, "wrong password", http.MethodGet, p.api+path, "")
		require.Equal(t, http.StatusUnauthorized, a.status, path)
		require.Contains(t, a.header.Get("WWW-Authenticate"), "Basic")
	}
}

func TestPagesAreServedBesideTheDoors(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0")
	for _, path := range []string{"/playground", "/lineage", "/lineage/any"} {
		require.Contains(t, p.announced, p.api+"/"+strings.Split(path, "/")[1])
		a := call(t, http.MethodGet, p.api+path, "")
		require.Equal(t, http.StatusOK, a.status, path)
		require.Contains(t, string(a.body), "<!doctype html>")
	}
}

func TestPathIsComparedAsItWasSent(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0")
	for _, path := range []string{"/graphql/", "//graphql", "/%67raphql", "/x/../graphql", "/lineage/", "/%6cineage"} {
		require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, p.api+path, "").status, path)
	}
}

// The OpenAPI document lists every path of REST, so a new one that nobody counts shows here.
func TestEveryPathIsCountedByItsRoute(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0")
	var document struct {
		Paths map[string]any `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(call(t, http.MethodGet, p.api+"/openapi.json", "").body, &document))
	require.NotEmpty(t, document.Paths)
	paths := []string{graphqlPath}
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
		call(t, http.MethodPatch, p.api+path, "")
		series := fmt.Sprintf(`fencepost_http_request_seconds_count{route=%q,status="4xx"}`, route)
		require.Equal(t, "1", p.counted(t, series), route)
	}
}

func TestProblemsAreCountedByCode(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0")
	call(t, http.MethodGet, p.api+"/api/etl/jobs/unknown", "")
	series := `fencepost_http_requests_total{code="etl_job_not_found",method="GET",route="/api/etl/jobs/{id}",status="4xx"}`
	require.Equal(t, "1", p.counted(t, series))
}

func TestServeRefusesADatabaseThatItCannotUse(t *testing.T) {
	t.Parallel()
	users := usersFile(t)
	for url, want := range map[string]string{
		pgtest.EmptyURL(t):     "fencepost migrate up",
		unreachable:            "connect",
		"postgres://%":         "--database-url: ",
		"postgres://host:port": "--database-url: ",
	} {
		message := refused(t, "serve", "--database-url", url, "--users-file", users)
		require.Contains(t, message, want)
		require.NotContains(t, message, "secret")
	}
}

func TestMalformedURLOfTheListenerStopsTheStart(t *testing.T) {
	t.Parallel()
	message := refused(t, "work", "--database-url", unreachable, "--listen-url", "postgres://%")
	require.Contains(t, message, "--listen-url: ")
}

func TestServeOnADatabaseNeedsUsers(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	require.Contains(t, refused(t, "serve", "--database-url", url), "--users-file")
	message := refused(t, "serve", "--database-url", url, "--users-file", filepath.Join(t.TempDir(), "none"))
	require.Contains(t, message, "--users-file: ")
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

	p := serve(t, url, "--load-sql-file", file)
	requireSuccess(t, p.submit(t, "load"))
	var id string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT record_id FROM target_rows`).Scan(&id))
	require.Equal(t, "a", id)
}

func TestBadLoadStatementStopsTheStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "load.sql")
	require.NoError(t, os.WriteFile(file, []byte(`SELECT @misspelt`), 0o600))
	for _, path := range []string{file, file + ".missing"} {
		message := refused(t, "work", "--database-url", unreachable, "--load-sql-file", path)
		require.Contains(t, message, "--load-sql-file: ")
	}
}

func TestIntrospectionCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	const query = `{"query":"{ __schema { queryType { name } } }"}`
	on := serve(t, url, "--workers=0")
	require.Contains(t, string(call(t, http.MethodPost, on.api+"/graphql", query).body), `"queryType"`)
	off := serve(t, url, "--workers=0", "--introspection=false")
	require.NotContains(t, string(call(t, http.MethodPost, off.api+"/graphql", query).body), `"queryType"`)
}

func TestRatesAreLimitedPerOwner(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0", "--rate-limit-submit=0.001")
	p.submit(t, "first")
	a := call(t, http.MethodPost, p.api+"/api/etl/jobs", `[]`, "Idempotency-Key", "second")
	require.Equal(t, http.StatusTooManyRequests, a.status)
}

func TestLogLinesNameNoJobAndNoUser(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--log-format=json", "--log-level=debug")
	job := p.submit(t, "a-key-of-ann")
	requireSuccess(t, job)
	o := p.end()
	require.Equal(t, 0, o.code)
	for line := range strings.Lines(o.stderr) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Contains(t, o.stderr, `"msg":"request answered"`)
	require.Contains(t, o.stderr, `"outcome":"succeeded"`)
	for _, secret := range []string{filepath.Base(job), "a-key-of-ann", `"ann"`, password} {
		require.NotContains(t, o.stderr, secret)
	}
}
