package systemtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/server"
	"fencepost/internal/worker"
)

const (
	smallBatch  = `[{"id":"a"}]`
	mostBytes   = 1000
	mostRecords = 10
)

// facade is one of the two ways to the service.
type facade interface {
	path() string
	submit(payload, key string) answer
	cancel(id, key string) answer
	cancelFor(reason, id, key string) answer
	replay(source, payload, key string) answer
	list(cursor string) answer
}

// scene is a server without workers, and its database, in which the test itself plays the worker. The user, the keys and the
// payloads are marked.
type scene struct {
	store   *postgres.Store
	url     string
	t       *testing.T
	server  *process
	answers *strings.Builder
}

func newScene(t *testing.T, changes ...func(*server.Config)) *scene {
	t.Helper()
	return sceneOn(t, pgtest.URL(t), changes...)
}

func sceneOn(t *testing.T, url string, changes ...func(*server.Config)) *scene {
	t.Helper()
	p := serve(t, url, append(changes, marked(t), withoutWorkers, func(c *server.Config) {
		c.Database.LockTimeout = 50 * time.Millisecond
		c.Limits = job.Limits{MaxPayloadBytes: mostBytes, MaxBatchRecords: mostRecords}
	})...)
	pool, err := db.Open(t.Context(), url, 8)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store := postgres.NewStore(pool, postgres.Config{LockTimeout: patience, CallTimeout: patience})
	t.Cleanup(store.Close)
	return &scene{store, url, t, p, &strings.Builder{}}
}

// limitedScene has used up what its owner may submit.
func limitedScene(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, func(c *server.Config) { c.Rates.Submit = 0.001 })
	s.pending()
	return s
}

// brokenScene has a database that is not as the program knows it.
func brokenScene(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	_, err := s.admin().Exec(t.Context(), "ALTER TABLE etl_job_records RENAME COLUMN created_at TO made_at")
	require.NoError(t, err)
	return s
}

// crashedScene has no database any more.
func crashedScene(t *testing.T) *scene {
	t.Helper()
	database := pgtest.Server(t)
	s := sceneOn(t, database.URL())
	database.Crash(t)
	return s
}

// end looks for the mark in all that the server has said.
func (s *scene) end() {
	s.t.Helper()
	requireSecrecy(s.t, s.server, s.answers.String(), mark)
}

// within is the same scene in a subtest.
func (s *scene) within(t *testing.T) *scene { return &scene{s.store, s.url, t, s.server, s.answers} }

// call sends a request as the marked user, and keeps its answer but for the path, which may come back in a problem.
func (s *scene) call(method, path, body string, header ...string) answer {
	s.t.Helper()
	a := callAs(s.t, http.DefaultClient, markedName, markedPassword, method, s.server.API+path, body, header...)
	fmt.Fprintln(s.answers, a.Status, a.Header, strings.ReplaceAll(string(a.Body), path, ""))
	return a
}

// admin is connected to the server's database as somebody who may do everything.
func (s *scene) admin() *pgxpool.Pool {
	s.t.Helper()
	return pgtest.SuperuserPool(s.t, s.url)
}

// hold runs SQL in a transaction that stays undecided until the test ends.
func (s *scene) hold(sql, id string) {
	s.t.Helper()
	tx, err := s.admin().Begin(s.t.Context())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(s.t.Context(), sql, id)
	require.NoError(s.t, err)
}

func (s *scene) submitted(key string) (id string) {
	s.t.Helper()
	return s.made(restFacade{s}.submit(smallBatch, key))
}

func (s *scene) replayed(source, key string) (id string) {
	s.t.Helper()
	return s.made(restFacade{s}.replay(source, smallBatch, key))
}

func (s *scene) made(a answer) (id string) {
	s.t.Helper()
	require.Equal(s.t, http.StatusAccepted, a.Status, "%s", a.Body)
	location := a.Header.Get("Location")
	return location[strings.LastIndex(location, "/")+1:]
}

func (s *scene) pending() (id string) {
	s.t.Helper()
	return s.submitted(uuid.NewString())
}

func (s *scene) cancelled() (id string) {
	s.t.Helper()
	id = s.pending()
	s.cancel(id)
	return id
}

func (s *scene) cancel(id string) {
	s.t.Helper()
	require.Equal(s.t, http.StatusOK, restFacade{s}.cancel(id, "key").Status)
}

// claimed submits a job and claims all that wait, to have that one's lease.
func (s *scene) claimed() worker.Lease {
	s.t.Helper()
	id := s.pending()
	c, err := s.store.Claim(s.t.Context(), worker.ClaimRequest{WorkerID: uuid.New(), Limit: 1000, Duration: time.Hour, MaxAttempts: 1})
	require.NoError(s.t, err)
	i := slices.IndexFunc(c.Leases, func(l worker.Lease) bool { return l.JobID.String() == id })
	return c.Leases[i]
}

func (s *scene) succeeded() (id string) {
	s.t.Helper()
	lease := s.claimed()
	require.NoError(s.t, s.store.Execute(s.t.Context(), lease))
	return lease.JobID.String()
}

func (s *scene) failed() (id string) {
	s.t.Helper()
	lease := s.claimed()
	require.NoError(s.t, s.store.Fail(s.t.Context(), lease, worker.Failure{Code: job.FailureTarget}))
	return lease.JobID.String()
}

// lastGeneration replays a job, and its replay, and so on, as often as it can be done.
func (s *scene) lastGeneration() (id string) {
	s.t.Helper()
	id = s.cancelled()
	for range job.MaxGeneration {
		id = s.replayed(id, uuid.NewString())
		s.cancel(id)
	}
	return id
}

// markedKey leaves out no key that is there.
func markedKey(key string) string {
	if key == "" {
		return ""
	}
	return mark + " " + key
}

type restFacade struct{ *scene }

func (restFacade) path() string { return "/api/etl/jobs" }

func (d restFacade) submit(payload, key string) answer { return d.post("", payload, key) }

func (d restFacade) cancel(id, key string) answer { return d.post("/"+id+"/cancellation", "", key) }

func (d restFacade) cancelFor(reason, id, key string) answer {
	return d.post("/"+id+"/cancellation", `{"reasonCode":"`+reason+`"}`, key)
}

func (d restFacade) replay(source, payload, key string) answer {
	return d.post("/"+source+"/replays", payload, key)
}

func (d restFacade) post(path, body, key string) answer {
	if key != "" {
		key = `"` + markedKey(key) + `"`
	}
	return d.call(http.MethodPost, d.path()+path, body, "Idempotency-Key", key)
}

func (d restFacade) list(cursor string) answer {
	return d.call(http.MethodGet, d.path()+"?cursor="+cursor, "")
}

type graphqlFacade struct{ *scene }

// variables are those of a GraphQL operation.
type variables map[string]any

func (graphqlFacade) path() string { return "/graphql" }

func (d graphqlFacade) submit(payload, key string) answer {
	return d.mutate("submitJob", "SubmitJobInput", variables{"requestPayload": payload, "idempotencyKey": markedKey(key)})
}

func (d graphqlFacade) cancel(id, key string) answer {
	return d.mutate("cancelJob", "CancelJobInput", variables{"jobRecordId": id, "idempotencyKey": markedKey(key)})
}

func (d graphqlFacade) cancelFor(reason, id, key string) answer {
	return d.mutate("cancelJob", "CancelJobInput",
		variables{"jobRecordId": id, "idempotencyKey": markedKey(key), "reasonCode": reason})
}

func (d graphqlFacade) replay(source, payload, key string) answer {
	return d.mutate("replayJob", "ReplayJobInput",
		variables{"sourceJobRecordId": source, "requestPayload": payload, "idempotencyKey": markedKey(key)})
}

func (d graphqlFacade) mutate(field, inputType string, input variables) answer {
	return d.post("mutation($input: "+inputType+"!) {"+field+
		"(input: $input) {... on Problem {type status errorCode title detail}}}", variables{"input": input})
}

func (d graphqlFacade) list(cursor string) answer {
	return d.post("query($after: String) {jobs(after: $after) {nodes {id}}}", variables{"after": cursor})
}

func (d graphqlFacade) post(query string, v variables) answer {
	body, err := json.Marshal(map[string]any{"query": query, "variables": v})
	require.NoError(d.t, err)
	return d.call(http.MethodPost, d.path(), string(body))
}

// refusal is what a client learns from a refused request: the members of the problem, which are the same in REST and in
// GraphQL, or else the status and the code of a GraphQL error.
type refusal struct {
	Type      string
	Status    int
	ErrorCode string
	Title     string
	Detail    string
}

func refusalIn(t *testing.T, a answer) refusal {
	t.Helper()
	var said struct {
		refusal
		Data   map[string]refusal
		Errors []struct{ Extensions struct{ Code string } }
	}
	require.NoError(t, json.Unmarshal(a.Body, &said), "%s", a.Body)
	if a.Header.Get("Content-Type") == "application/problem+json" { // whose errors are those of records
		require.Equal(t, said.Status, a.Status)
		return said.refusal
	}
	for _, e := range said.Errors {
		return refusal{Status: a.Status, ErrorCode: e.Extensions.Code}
	}
	for _, problem := range said.Data {
		require.Equal(t, http.StatusOK, a.Status)
		return problem
	}
	require.Fail(t, "no refusal", "%s", a.Body)
	return refusal{}
}
