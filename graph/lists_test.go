package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// ids are the ids of a connection's nodes.
func ids(t *testing.T, connection any) []string {
	t.Helper()
	found := []string{}
	for _, node := range at(t, connection, "nodes").([]any) {
		found = append(found, at(t, node, "id").(string))
	}
	return found
}

func TestPagesGiveEachJobOnceNewestFirst(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var want []string
	for i := range 5 {
		want = append([]string{s.newJob(fmt.Sprintf("k%d", i))}, want...)
	}
	s.submit(batch, "k", "As", "bob")
	var got []string
	var after any
	for more := true; more; {
		jobs := s.data(`query($after: String) {jobs(first: 2, after: $after) {
			nodes {id} edges {cursor node {id}} pageInfo {hasNextPage hasPreviousPage startCursor endCursor}
		}}`, object{"after": after})["jobs"]
		require.Equal(t, after != nil, at(t, jobs, "pageInfo", "hasPreviousPage"))
		require.Equal(t, at(t, jobs, "edges", 0, "cursor"), at(t, jobs, "pageInfo", "startCursor"))
		require.Equal(t, at(t, jobs, "nodes", 0), at(t, jobs, "edges", 0, "node"))
		got = append(got, ids(t, jobs)...)
		after, more = at(t, jobs, "pageInfo", "endCursor"), at(t, jobs, "pageInfo", "hasNextPage").(bool)
	}
	require.Equal(t, want, got)

	for _, wrong := range []string{
		`{jobs(first: 2, filter: {replay: false}, after: "` + after.(string) + `") {nodes {id}}}`,
		`{jobs(first: 2, after: "garbage") {nodes {id}}}`, "{jobs(first: 0) {nodes {id}}}", "{jobs(first: 101) {nodes {id}}}",
	} {
		refused := s.post(wrong, nil).json(t)
		require.Equal(t, map[string]any{"code": "BAD_USER_INPUT", "errorCode": "etl_invalid_page_request"}, at(t, refused, "errors", 0, "extensions"))
	}
}

func TestAnEmptyPageHasNoCursors(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	require.Equal(t, map[string]any{
		"edges": []any{}, "nodes": []any{},
		"pageInfo": map[string]any{"hasNextPage": false, "hasPreviousPage": false, "startCursor": nil, "endCursor": nil},
	}, s.data("{jobs(first: null, after: null) {edges {cursor} nodes {id} pageInfo {hasNextPage hasPreviousPage startCursor endCursor}}}", nil)["jobs"])
}

func TestEveryPartOfTheFilterMustHold(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	resolved := s.cancelledJob("a")
	replay := at(t, s.replay(resolved, batch, "r"), "job", "id").(string)
	unresolved, pending := s.cancelledJob("b"), s.newJob("c")
	created := at(t, s.data(`{job(jobRecordId: "`+unresolved+`") {createdAt}}`, nil), "job", "createdAt").(string)
	for filter, want := range map[string][]string{
		"{}":                                {pending, unresolved, replay, resolved},
		"{status: []}":                      {pending, unresolved, replay, resolved},
		"{status: CANCELLED}":               {unresolved, resolved},
		"{status: [PENDING, FAILED]}":       {pending, replay},
		"{replay: true}":                    {replay},
		"{replay: false}":                   {pending, unresolved, resolved},
		"{unresolved: true}":                {unresolved},
		"{unresolved: false}":               {pending, replay, resolved},
		`{createdAfter: "` + created + `"}`: {pending},
		`{createdBefore: "` + created + `", status: CANCELLED}`: {resolved},
	} {
		found := s.data("{jobs(filter: "+filter+") {nodes {id}} jobStatusCounts(filter: "+filter+") {status count}}", nil)
		require.Equal(t, want, ids(t, found["jobs"]), filter)
		total := 0
		for i, status := range []string{"PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"} {
			require.Equal(t, status, at(t, found, "jobStatusCounts", i, "status"))
			total += int(at(t, found, "jobStatusCounts", i, "count").(float64))
		}
		require.Equal(t, len(want), total, filter)
	}
	require.Equal(t, map[string]any{"status": "CANCELLED", "count": 2.0}, at(t, s.data("{jobStatusCounts {status count}}", nil), "jobStatusCounts", 4))
}
