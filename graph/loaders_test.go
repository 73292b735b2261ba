package graph_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/faultproxy"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/retention"
	"fencepost/internal/postgres/statements"
)

// statementCount counts the statements that a pool sends to the database.
type statementCount struct{ atomic.Int64 }

func (c *statementCount) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Add(1)
	return ctx
}
func (*statementCount) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (*statementCount) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (c *statementCount) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {
	c.Add(1)
}
func (*statementCount) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func newCountingServer(t *testing.T) (*server, *statementCount) {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.URL(t))
	require.NoError(t, err)
	count := &statementCount{}
	config.ConnConfig.Tracer = count
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return newServerOn(t, pool), count
}

// newChain makes a root, a replay of it and a replay of that, and returns their ids.
func (s *server) newChain(key string) [3]string {
	s.t.Helper()
	root := s.cancelledJob(key)
	middle := at(s.t, s.replay(root, batch, key+".1"), "job", "id").(string)
	s.cancel(middle, key)
	return [3]string{root, middle, at(s.t, s.replay(middle, batch, key+".2"), "job", "id").(string)}
}

// deepQuery selects every field that reads more than the row of the job itself, at several levels.
const deepQuery = `query($n: Int) {jobs(first: $n, filter: {status: PENDING}) {nodes {
	id
	replayRoot {id}
	replaySource {id replaySource {id} replays(first: 2) {nodes {id}} lineage {jobCount}}
	replays(first: 3) {nodes {id}}
	lineage {
		jobCount root {id} ancestry {id}
		jobs(first: 3) {nodes {id replaySource {id} replays(first: 2) {nodes {id}}}}
	}
}}}`

// maxStatements is what deepQuery may take, for any number of rows: each of its 10 fields that read something takes a
// statement or two, and the rest is for batches that a busy machine has split.
const maxStatements = 25

func TestTheNumberOfStatementsDoesNotGrowWithTheRows(t *testing.T) {
	t.Parallel()
	s, count := newCountingServer(t)
	chains := map[string][3]string{}
	for _, rows := range []int{3, 50} {
		for len(chains) < rows {
			chain := s.newChain(fmt.Sprintf("k%d", len(chains)))
			chains[chain[2]] = chain
		}
		before := count.Load()
		nodes := at(t, s.data(deepQuery, object{"n": rows}), "jobs", "nodes").([]any)
		require.LessOrEqual(t, count.Load()-before, int64(maxStatements))
		require.Len(t, nodes, rows)
		for _, node := range nodes {
			requireChain(t, chains[at(t, node, "id").(string)], node)
		}
	}
}

// requireChain checks that a node of deepQuery got its own family and nobody else's.
func requireChain(t *testing.T, chain [3]string, node any) {
	t.Helper()
	id := func(id string) map[string]any { return map[string]any{"id": id} }
	require.Equal(t, id(chain[0]), at(t, node, "replayRoot"))
	require.Equal(t, chain[1], at(t, node, "replaySource", "id"))
	require.Equal(t, id(chain[0]), at(t, node, "replaySource", "replaySource"))
	require.Equal(t, []any{id(chain[2])}, at(t, node, "replaySource", "replays", "nodes"))
	require.Empty(t, at(t, node, "replays", "nodes"))
	require.EqualValues(t, 3, at(t, node, "lineage", "jobCount"))
	require.Equal(t, id(chain[0]), at(t, node, "lineage", "root"))
	require.Equal(t, []any{id(chain[0]), id(chain[1]), id(chain[2])}, at(t, node, "lineage", "ancestry"))
	require.Equal(t, []any{id(chain[1])}, at(t, node, "lineage", "jobs", "nodes", 0, "replays", "nodes"))
	require.Equal(t, id(chain[1]), at(t, node, "lineage", "jobs", "nodes", 2, "replaySource"))
	require.EqualValues(t, 3, at(t, node, "replaySource", "lineage", "jobCount"))
}

func TestALoaderKeepsPagesOfDifferentSizesAndSourcesApart(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	first, second := s.cancelledJob("a"), s.cancelledJob("b")
	for i := range 3 {
		s.replay(first, batch, fmt.Sprintf("first%d", i))
		s.replay(second, batch, fmt.Sprintf("second%d", i))
	}
	page := func(query string, variables map[string]any) any {
		return at(t, s.data(query, variables), "jobs", "nodes")
	}
	const pages = `query($after: String) {jobs(filter: {status: CANCELLED}) {nodes {
		id one: replays(first: 1) {nodes {id} pageInfo {hasNextPage endCursor hasPreviousPage}} two: replays(first: 2, after: $after) {nodes {id}}
	}}}`
	nodes := page(pages, nil)
	require.Equal(t, second, at(t, nodes, 0, "id"))
	for i := range 2 {
		require.Len(t, at(t, nodes, i, "one", "nodes"), 1)
		require.Len(t, at(t, nodes, i, "two", "nodes"), 2)
		require.Equal(t, at(t, nodes, i, "one", "nodes", 0), at(t, nodes, i, "two", "nodes", 0))
		require.Equal(t, true, at(t, nodes, i, "one", "pageInfo", "hasNextPage"))
		require.Equal(t, false, at(t, nodes, i, "one", "pageInfo", "hasPreviousPage"))
	}

	// A cursor belongs to one source: the other one's page is refused, and the first one's is not spoiled by that.
	got := s.post(`query($after: String) {job(jobRecordId: "`+first+`") {replays(first: 2, after: $after) {nodes {id} pageInfo {hasPreviousPage}}}
		other: job(jobRecordId: "`+second+`") {replaySource {id} again: replays(first: 2) {nodes {id}}}}`,
		object{"after": at(t, nodes, 1, "one", "pageInfo", "endCursor")})
	require.Len(t, at(t, got.json(t), "data", "job", "replays", "nodes"), 2, got.body)
	require.Equal(t, true, at(t, got.json(t), "data", "job", "replays", "pageInfo", "hasPreviousPage"))
	got = s.post(pages, object{"after": at(t, nodes, 1, "one", "pageInfo", "endCursor")})
	require.Nil(t, got.json(t)["data"], got.body)
	require.Len(t, got.json(t)["errors"], 1)
	require.Equal(t, "etl_invalid_page_request", at(t, got.json(t), "errors", 0, "extensions", "errorCode"))
	require.Equal(t, "BAD_USER_INPUT", at(t, got.json(t), "errors", 0, "extensions", "code"))
}

func TestAMutationFieldReadsNothingFromBeforeItsWrite(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	source := s.cancelledJob("a")
	replay := `replayJob(input: {sourceJobRecordId: "` + source + `", requestPayload: "[{\"id\": \"a\"}, {\"id\": \"b\"}]", idempotencyKey: "KEY"}) {
		... on ReplayJobSuccess {job {id lineage {jobCount} replaySource {replays {nodes {id}}}}}}`
	got := s.data("mutation {one: "+replay+" two: "+replay+"}", nil)
	require.EqualValues(t, 2, at(t, got, "one", "job", "lineage", "jobCount"))
	require.EqualValues(t, 2, at(t, got, "two", "job", "lineage", "jobCount"))

	replayed := at(t, got, "one", "job", "id").(string)
	got = s.data(`mutation($payload: String!, $id: ID!, $source: ID!) {
		before: cancelJob(input: {jobRecordId: $id, idempotencyKey: "x"}) {...result}
		after: replayJob(input: {sourceJobRecordId: $source, requestPayload: $payload, idempotencyKey: "y"}) {
			... on ReplayJobSuccess {job {replaySource {replays {nodes {id status}} lineage {jobCount statusCounts {count}}}}}}
	}
	fragment result on CancelJobResult {... on CancelJobSuccess {job {replaySource {replays {nodes {id status}} lineage {jobCount}}}}}`,
		object{"payload": batch, "id": replayed, "source": source})
	require.Equal(t, []any{map[string]any{"id": replayed, "status": "CANCELLED"}}, at(t, got, "before", "job", "replaySource", "replays", "nodes"))
	require.EqualValues(t, 2, at(t, got, "before", "job", "replaySource", "lineage", "jobCount"))
	require.Len(t, at(t, got, "after", "job", "replaySource", "replays", "nodes"), 2)
	require.EqualValues(t, 3, at(t, got, "after", "job", "replaySource", "lineage", "jobCount"))
	require.EqualValues(t, 2, at(t, got, "after", "job", "replaySource", "lineage", "statusCounts", 4, "count"))
}

func TestJobsThatArePurgedWhileTheyAreToldHaveNullForWhatIsGone(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	proxy := faultproxy.Start(t, url)
	s := newServerOn(t, pgtest.PoolOn(t, proxy.URL()))
	s.newChain("k")
	listed := proxy.Hold(faultproxy.AfterCommit, statements.Named("list").SQL)
	told := make(chan answer)
	go func() {
		told <- s.post(`{jobs(first: 3) {nodes {
			replaySource {id} replayRoot {id} replays {nodes {id}} attempts {nodes {number}} lineage {jobCount jobs {nodes {id}}}
		}}}`, nil)
	}()
	listed.Wait(t)
	purge(t, url)
	listed.Pass(t)
	gone := `{"replaySource":null,"replayRoot":null,"replays":{"nodes":[]},"attempts":{"nodes":[]},"lineage":null}`
	require.JSONEq(t, `{"data":{"jobs":{"nodes":[`+gone+","+gone+","+gone+`]}}}`, (<-told).body)
}

// purge removes all jobs.
func purge(t *testing.T, url string) {
	t.Helper()
	pool := pgtest.SuperuserPool(t, url)
	_, err := pool.Exec(t.Context(), `UPDATE etl_job_records SET request_payload = NULL, job_status = 'CANCELLED', cancellation_code = '`+
		job.CancellationByOwner+`', cancellation_key_hash = sha256('k'), job_cancelled_at = clock_timestamp() WHERE job_status = 'PENDING'`)
	require.NoError(t, err)
	purged, err := retention.Purge(t.Context(), pool, retention.Policy{BatchSize: 100})
	require.NoError(t, err)
	require.Equal(t, 3, purged.Jobs)
}
