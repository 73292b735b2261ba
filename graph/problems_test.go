package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/graph/model"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/ratelimit"
)

func TestProblemCodeIsTheWholeTable(t *testing.T) {
	t.Parallel()
	var codes []model.ProblemCode
	for _, d := range job.Definitions() {
		codes = append(codes, model.ProblemCode(strings.ToUpper(string(d.Code))))
	}
	require.Equal(t, model.AllProblemCode, codes)
}

func TestAnExpectedRefusalIsDataWithTheTextsOfREST(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	definition := job.CodeInvalidJSON.Define()
	require.Equal(t, map[string]any{
		"__typename": "Problem", "code": "ETL_INVALID_JSON", "errorCode": "etl_invalid_json", "type": definition.Type(),
		"title": definition.Title, "status": 400.0, "detail": definition.Detail, "retryAfter": nil, "relatedJob": nil,
		"errors": nil, "offset": 0.0,
	}, s.submit("{", "k"))
}

func TestEveryRefusalOfAWriteIsAProblem(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	pending, cancelled, foreign := s.newJob("pending"), s.cancelledJob("cancelled"), at(t, s.submit(batch, "k", "As", "bob"), "job", "id").(string)
	replayed := at(t, s.replay(cancelled, batch, "replayed"), "job", "id").(string)
	longKey := strings.Repeat("k", 256)
	for _, c := range []struct {
		got   map[string]any
		code  string
		about any
	}{
		{s.submit(batch, ""), "ETL_JOB_SUBMISSION_KEY_REQUIRED", nil},
		{s.submit(batch, longKey), "ETL_INVALID_IDEMPOTENCY_KEY", nil},
		{s.submit(batch, "kü"), "ETL_INVALID_IDEMPOTENCY_KEY", nil},
		{s.submit("[", "k"), "ETL_INVALID_JSON", nil},
		{s.submit(`[{"id": ""}]`, "k"), "ETL_INVALID_RECORD", nil},
		{s.submit("["+strings.Repeat(`{"id": "a"},`, 1000)+`{"id": "a"}]`, "k"), "ETL_BATCH_TOO_LARGE", nil},
		{s.submit("[]", "pending"), "ETL_JOB_SUBMISSION_KEY_REUSED", pending},
		{s.cancel(pending, ""), "ETL_JOB_CANCELLATION_KEY_REQUIRED", nil},
		{s.cancel(pending, longKey), "ETL_INVALID_IDEMPOTENCY_KEY", nil},
		{s.cancel(cancelled, "other"), "ETL_JOB_CANCELLATION_KEY_REUSED", cancelled},
		{s.cancel("x", "k"), "ETL_JOB_NOT_FOUND", nil},
		{s.cancel(foreign, "k"), "ETL_JOB_NOT_FOUND", nil},
		{s.cancel(strings.ToUpper(pending), "k"), "ETL_JOB_NOT_FOUND", nil},
		{s.replay(cancelled, batch, ""), "ETL_JOB_REPLAY_KEY_REQUIRED", nil},
		{s.replay(cancelled, batch+" ", "k"), "ETL_JOB_REPLAY_PAYLOAD_MISMATCH", cancelled},
		{s.replay(pending, batch, "k"), "ETL_JOB_REPLAY_SOURCE_ACTIVE", pending},
		{s.replay(pending, batch, "replayed"), "ETL_JOB_REPLAY_KEY_REUSED", replayed},
		{s.replay(foreign, batch, "k"), "ETL_JOB_NOT_FOUND", nil},
	} {
		require.Equal(t, "Problem", c.got["__typename"], c.code)
		require.Equal(t, c.code, c.got["code"])
		require.Nil(t, c.got["retryAfter"], c.code)
		if c.about == nil {
			require.Nil(t, c.got["relatedJob"], c.code)
		} else {
			require.Equal(t, c.about, at(t, c.got, "relatedJob", "id"), c.code)
		}
	}
}

func TestMalformedAbsentAndForeignJobsAreNullAlike(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	own, foreign := s.newJob("k"), at(t, s.submit(batch, "k", "As", "bob"), "job", "id").(string)
	const query = "query($id: ID!) {job(jobRecordId: $id) {id} lineage(jobRecordId: $id) {jobCount} node(id: $id) {__typename id}}"
	for _, id := range []string{foreign, strings.ToUpper(own), "x", "", "00000000-0000-0000-0000-000000000000", "{" + own + "}"} {
		require.Equal(t, map[string]any{"job": nil, "lineage": nil, "node": nil}, s.data(query, object{"id": id}), id)
	}
	require.Equal(t, map[string]any{
		"job": map[string]any{"id": own}, "lineage": map[string]any{"jobCount": 1.0}, "node": map[string]any{"__typename": "Job", "id": own},
	}, s.data(query, object{"id": own}))
}

func TestEveryMutationFieldCountsAgainstTheRate(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *graph.Config) {
		stopped := time.Unix(0, 0)
		c.Limiter = ratelimit.New(ratelimit.Rates{Cancel: 0.4}, func() time.Time { return stopped })
	})
	got := s.data(`mutation {
		a: cancelJob(input: {jobRecordId: "x", idempotencyKey: "k"}) {... on Problem {code retryAfter}}
		b: cancelJob(input: {jobRecordId: "x", idempotencyKey: "k"}) {... on Problem {code retryAfter}}
	}`, nil)
	require.Equal(t, map[string]any{"code": "ETL_JOB_NOT_FOUND", "retryAfter": nil}, got["a"])
	require.Equal(t, map[string]any{"code": "ETL_RATE_LIMITED", "retryAfter": 3.0}, got["b"])
}

func TestABusyRowIsAProblemToRepeatInASecond(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.newJob("k")
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", id)
	require.NoError(t, err)
	got := s.cancel(id, "k")
	require.Equal(t, "ETL_JOB_CANCELLATION_IN_PROGRESS", got["code"])
	require.EqualValues(t, 1, got["retryAfter"])
}

func TestAnUnreachableDatabaseIsAProblemOfAWriteAndAnErrorOfARead(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s := newServerOn(t, pool)
	require.Equal(t, "ETL_DATABASE_UNAVAILABLE", s.submit(batch, "k")["code"])
	require.EqualValues(t, 1, s.submit(batch, "k")["retryAfter"])
	got := s.post("{\n  jobs {nodes {id}}}", nil)
	require.Equal(t, 200, got.status)
	require.JSONEq(t, fmt.Sprintf(`{"data": null, "errors": [{"message": %q, "path": ["jobs"], "locations": [{"line": 2, "column": 3}],
		"extensions": {"code": "UNAVAILABLE", "errorCode": "etl_database_unavailable"}}]}`, job.CodeDatabaseUnavailable.Define().Detail), got.body)
}

func TestAnInternalErrorTellsNothingButItsPlace(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.exec("ALTER TABLE etl_job_records RENAME TO elsewhere")
	for _, c := range []struct{ query, path, field string }{
		{"{x: job(jobRecordId: 5) {id}}", "x", "Query.job"},
		{`mutation {y: submitJob(input: {requestPayload: "[]", idempotencyKey: "secret"}) {__typename}}`, "y", "Mutation.submitJob"},
	} {
		got := s.post(c.query, nil)
		require.Equal(t, 200, got.status)
		parsed := got.json(t)["errors"].([]any)[0].(map[string]any)
		require.Equal(t, "The server failed to answer this.", parsed["message"])
		require.Equal(t, map[string]any{"code": "INTERNAL"}, parsed["extensions"])
		require.Equal(t, []any{c.path}, parsed["path"])
		require.Len(t, parsed["locations"], 1)
		require.Contains(t, s.log.String(), `msg="graphql operation failed" code=etl_internal_error field=`+c.field)
	}
	require.NotRegexp(t, "etl_job_records|relation|secret|SQLSTATE", s.log.String())
}

// lockJobs keeps everybody from reading jobs, until the end of the test.
func (s *server) lockJobs() {
	s.t.Helper()
	tx, err := pgtest.SuperuserPool(s.t, s.pool.Config().ConnString()).Begin(s.t.Context())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(s.t.Context())) })
	_, err = tx.Exec(s.t.Context(), "LOCK TABLE etl_job_records")
	require.NoError(s.t, err)
}

func TestAnOperationHasADeadline(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *graph.Config) { c.Timeout = 50 * time.Millisecond })
	s.lockJobs()
	got := s.post("{jobs {nodes {id}}}", nil)
	require.Equal(t, "TIMEOUT", at(t, got.json(t), "errors", 0, "extensions", "code"), got.body)
}

// breaking is a limiter with a bug.
type breaking struct{}

func (breaking) Allow(job.Owner, job.Operation) (time.Duration, bool) { panic("secret") }

func TestAPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *graph.Config) { c.Limiter = breaking{} })
	got := s.post(`mutation {cancelJob(input: {jobRecordId: "x", idempotencyKey: "k"}) {__typename}}`, nil)
	require.Equal(t, map[string]any{
		"message": "The server failed to answer this.", "path": []any{"cancelJob"},
		"locations": []any{map[string]any{"line": 1.0, "column": 11.0}}, "extensions": map[string]any{"code": "INTERNAL"},
	}, at(t, got.json(t), "errors", 0))
	require.NotContains(t, s.log.String(), "secret")
}

func TestAnAnswerHasAtMostTenErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	broken := repeat(18, func(i int) string { return fmt.Sprintf(` r%d: replays(after: "x") {nodes {id}}`, i) })
	got := s.post(`{job(jobRecordId: "`+s.newJob("k")+`") {`+broken+"}}", nil)
	require.Len(t, got.json(t)["errors"], 10, got.body)
}
