package graph_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/internal/ratelimit"
)

// told is an operation that an observer heard of.
type told struct{ kind, code string }

// listener is an observer that keeps what it is told.
type listener chan told

func (l listener) OperationBegan(ctx context.Context, kind string) (context.Context, func(string)) {
	return ctx, func(code string) { l <- told{kind, code} }
}

func newObservedServer(t *testing.T, change ...func(*graph.Config)) (*server, listener) {
	t.Helper()
	l := make(listener, 100)
	return newStreamServer(t, append(change, func(c *graph.Config) { c.Observer = l })...), l
}

func (l listener) next(t *testing.T) told {
	t.Helper()
	select {
	case heard := <-l:
		return heard
	case <-time.After(patience):
		require.FailNow(t, "gave up waiting")
		return told{}
	}
}

func TestEachOperationIsToldOnceWithItsFirstCode(t *testing.T) {
	t.Parallel()
	s, l := newObservedServer(t, func(c *graph.Config) {
		c.Limiter = ratelimit.New(ratelimit.Rates{Replay: 1}, func() time.Time { return time.Unix(0, 0) })
	})
	id := s.newJob("k")
	require.Equal(t, told{"mutation", ""}, l.next(t))
	for query, want := range map[string]told{
		`{job(jobRecordId: "x") {id}}`:    {"query", ""},
		`{jobs(after: "x") {nodes {id}}}`: {"query", "etl_invalid_page_request"},
		`{jobs(first: 101) {nodes {id}}}`: {"query", "etl_invalid_page_request"},
		`{`:                               {"none", "GRAPHQL_PARSE_FAILED"},
		`{unknown}`:                       {"none", "GRAPHQL_VALIDATION_FAILED"},
		`query($id: ID!) {job(jobRecordId: $id) {id}}`: {"query", "BAD_USER_INPUT"},
		`mutation {
			a: cancelJob(input: {jobRecordId: "x", idempotencyKey: "k"}) {__typename}
			b: cancelJob(input: {jobRecordId: "x", idempotencyKey: ""}) {__typename}
		}`: {"mutation", "etl_job_not_found"},
		`mutation {
			a: replayJob(input: {sourceJobRecordId: "` + id + `", requestPayload: "[]", idempotencyKey: "a"}) {__typename}
		}`: {"mutation", "etl_job_replay_source_active"},
	} {
		s.post(query, nil)
		require.Equal(t, want, l.next(t), query)
	}
	s.replay(id, batch, "b")
	require.Equal(t, told{"mutation", "etl_rate_limited"}, l.next(t))
	require.Empty(t, l)
}

func TestSubscriptionIsToldOnceAtTheEndOfItsStream(t *testing.T) {
	t.Parallel()
	const subscription = "subscription($id: ID!) {jobChanged(jobRecordId: $id) {id}}"
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s, l := newObservedServer(t)
		id := s.newJob("k")
		require.Equal(t, told{"mutation", ""}, l.next(t))

		refused := subscribe(s, subscription, object{"id": "x"})
		refused.requireRefused("NOT_FOUND")
		require.Equal(t, told{"subscription", "etl_job_not_found"}, l.next(t))

		events := subscribe(s, subscription, object{"id": id})
		events.data()
		require.Empty(t, l)
		s.cancel(id, "k")
		events.data()
		events.requireComplete()
		require.ElementsMatch(t, []told{{"mutation", ""}, {"subscription", ""}}, []told{l.next(t), l.next(t)})
	})
}
