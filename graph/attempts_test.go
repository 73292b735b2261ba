package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

func TestAttemptsThatDidNotEndTheJobAreToldInPages(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.newJob("job")
	const query = `query($id: ID!, $after: String, $first: Int = 20) {job(jobRecordId: $id) {attempts(first: $first, after: $after) {
		nodes {number outcome sqlState startedAt endedAt} edges {cursor node {number}}
		pageInfo {hasNextPage hasPreviousPage startCursor endCursor}}}}`
	page := func(first int, after any) any {
		return at(t, s.data(query, object{"id": id, "first": first, "after": after}), "job", "attempts")
	}
	require.Equal(t, []any{}, at(t, page(20, nil), "nodes"))
	require.NoError(t, s.store.Retry(t.Context(), s.claim(), worker.Return{Outcome: job.AttemptRetried, SQLState: "40001"}))
	require.NoError(t, s.store.Retry(t.Context(), s.claim(), worker.Return{Outcome: job.AttemptLoadClosed}))

	first := page(1, nil)
	require.Equal(t, []any{1.0, "RETRIED", "40001", true, false}, []any{
		at(t, first, "nodes", 0, "number"), at(t, first, "nodes", 0, "outcome"), at(t, first, "nodes", 0, "sqlState"),
		at(t, first, "pageInfo", "hasNextPage"), at(t, first, "pageInfo", "hasPreviousPage"),
	})
	second := page(1, at(t, first, "pageInfo", "endCursor"))
	require.Equal(t, []any{2.0, "LOAD_CLOSED", nil, false, true}, []any{
		at(t, second, "edges", 0, "node", "number"), at(t, second, "nodes", 0, "outcome"), at(t, second, "nodes", 0, "sqlState"),
		at(t, second, "pageInfo", "hasNextPage"), at(t, second, "pageInfo", "hasPreviousPage"),
	})
	refused := s.post(query, object{"id": id, "first": 0}).json(t)
	require.Equal(t, "etl_invalid_page_request", at(t, refused, "errors", 0, "extensions", "errorCode"))
	whole := s.data("{jobs {nodes {attempts {nodes {number}}}}}", nil)
	require.Len(t, at(t, whole, "jobs", "nodes", 0, "attempts", "nodes"), 2)
}
