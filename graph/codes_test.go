package graph_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/graph/generated"
	"fencepost/graph/model"
	"fencepost/internal/feed"
)

// provocations are requests, each of which is answered with one of the codes.
func provocations(t *testing.T) map[model.ErrorCode]answer {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, cut := newServer(t), newServerOn(t, pool)
	late := newServer(t, func(c *graph.Config) { c.Timeout = 50 * time.Millisecond })
	late.lockJobs()
	broken := newServer(t, func(c *graph.Config) { c.Limiter = breaking{} })
	full := newServer(t, func(c *graph.Config) { c.WebSockets = feed.NewQuota(feed.Limits{}) })
	watch := `{"query": "subscription {jobChanged(jobRecordId: \"x\") {id}}"}`
	return map[model.ErrorCode]answer{
		model.ErrorCodeGraphqlParseFailed:      s.post("{", nil),
		model.ErrorCodeGraphqlValidationFailed: s.post("{none}", nil),
		model.ErrorCodeBadUserInput:            s.post("{jobs(first: 0) {nodes {id}}}", nil),
		model.ErrorCodeQueryTooComplex:         s.post(strings.Repeat("{a", 16)+strings.Repeat("}", 16), nil),
		model.ErrorCodeNotFound:                s.send("POST", s.url, watch, "Content-Type", jsonType, "Accept", "text/event-stream"),
		model.ErrorCodeTooManyStreams:          full.send("GET", full.url, "", "Connection", "Upgrade", "Upgrade", "websocket"),
		model.ErrorCodeUnavailable:             cut.post("{jobs {nodes {id}}}", nil),
		model.ErrorCodeTimeout:                 late.post("{jobs {nodes {id}}}", nil),
		model.ErrorCodeInternal:                broken.post(`mutation {cancelJob(input: {jobRecordId: "x", idempotencyKey: "k"}) {__typename}}`, nil),
		model.ErrorCodeBadRequest:              s.send("POST", s.url, "{", "Content-Type", jsonType),
		model.ErrorCodeUnauthenticated:         s.post("{__typename}", nil, "As", "nobody"),
		model.ErrorCodeForbidden:               s.post("{__typename}", nil, "Sec-Fetch-Site", "cross-site"),
		model.ErrorCodeMethodNotAllowed:        s.send(http.MethodPut, s.url, ""),
		model.ErrorCodeNotAcceptable:           s.post("{__typename}", nil, "Accept", "text/html"),
		model.ErrorCodePayloadTooLarge:         s.post(strings.Repeat(" ", 7<<20), nil),
		model.ErrorCodeUnsupportedMediaType:    s.send("POST", s.url, typenameBody, "Content-Type", "text/plain"),
	}
}

// That no other code is sent is the compiler's to see: fault.New takes one of the schema, and makes every error.
func TestEveryErrorCodeOfTheSchemaIsSent(t *testing.T) {
	t.Parallel()
	provoked := provocations(t)
	for _, code := range model.AllErrorCode {
		require.Contains(t, provoked[code].body, `"code":"`+string(code)+`"`, code)
	}
	require.Len(t, provoked, len(model.AllErrorCode))
}

func TestCodesOfOperationsAreOfTheSchemaToo(t *testing.T) {
	t.Parallel()
	definition := generated.NewExecutableSchema(generated.Config{}).Schema().Types["ErrorCode"]
	require.Len(t, definition.EnumValues, len(model.AllErrorCode))
	for _, value := range definition.EnumValues {
		require.NotEmpty(t, value.Description, value.Name)
	}
	for _, code := range graph.ErrorCodes {
		require.True(t, slices.Contains(model.AllErrorCode, model.ErrorCode(code)), code)
	}
}

func TestTheJobOfASuccessAndThatOfAProblemAreSelectedSideBySide(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	const query = `mutation($id: ID!, $key: String!) {
		cancelJob(input: {jobRecordId: $id, idempotencyKey: $key}) {
			... on CancelJobSuccess { job { id } }
			... on Problem { relatedJob { id } }
		}
	}`
	id := s.newJob("k")
	job := map[string]any{"id": id}
	require.Equal(t, map[string]any{"job": job}, s.data(query, object{"id": id, "key": "first"})["cancelJob"])
	require.Equal(t, map[string]any{"relatedJob": job}, s.data(query, object{"id": id, "key": "second"})["cancelJob"])
}
