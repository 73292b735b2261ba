package graph_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/internal/feed"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/worker"
)

const (
	jobQuery     = `subscription($id: ID!) {jobChanged(jobRecordId: $id) {id status attemptCount failureCode replaySource {id}}}`
	lineageQuery = `subscription($id: ID!) {lineageChanged(jobRecordId: $id) {
		root {id} job {id} jobCount statusCounts {status count} jobs {nodes {id status}}}}`
)

func TestAJobIsFollowedFromItsPresentStateToItsLast(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		here, elsewhere := newPair(t)
		id := here.newJob("a")
		changes := subscribe(here, jobQuery, object{"id": id})
		require.Equal(t, map[string]any{
			"id": id, "status": "PENDING", "attemptCount": 0.0, "failureCode": nil, "replaySource": nil,
		}, changes.data("jobChanged"))
		lease := elsewhere.claim()
		require.Equal(t, "RUNNING", changes.data("jobChanged", "status"))
		require.NoError(t, elsewhere.store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried}))
		require.Equal(t, "PENDING", changes.data("jobChanged", "status"))
		lease = elsewhere.claim()
		require.EqualValues(t, 2, changes.data("jobChanged", "attemptCount"))
		require.NoError(t, elsewhere.store.Fail(t.Context(), lease, worker.Failure{Code: job.FailureTarget}))
		require.Equal(t, "etl_target_failure", changes.data("jobChanged", "failureCode"))
		changes.requireComplete()
	})
}

func TestAFinalJobIsToldOnce(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s := newServer(t)
		id := s.cancelledJob("a")
		changes := subscribe(s, jobQuery, object{"id": id})
		require.Equal(t, "CANCELLED", changes.data("jobChanged", "status"))
		changes.requireComplete()
		family := subscribe(s, lineageQuery, object{"id": id})
		require.EqualValues(t, 1, family.data("lineageChanged", "jobCount"))
		family.requireComplete()
	})
}

func TestALineageIsFollowedUntilNoneOfItsJobsIsActive(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		here, elsewhere := newPair(t)
		chain := here.newChain("a")
		changes := subscribe(here, lineageQuery, object{"id": chain[1]})
		first := changes.data("lineageChanged")
		require.Equal(t, chain[0], at(t, first, "root", "id"))
		require.Equal(t, chain[1], at(t, first, "job", "id"))
		require.EqualValues(t, 3, at(t, first, "jobCount"))
		replay := at(t, elsewhere.replay(chain[0], batch, "new"), "job", "id").(string)
		grown := changes.data("lineageChanged")
		require.EqualValues(t, 4, at(t, grown, "jobCount"))
		require.Contains(t, at(t, grown, "jobs", "nodes"), map[string]any{"id": replay, "status": "PENDING"})
		elsewhere.cancel(replay, "c1")
		require.EqualValues(t, 3, at(t, changes.data("lineageChanged", "statusCounts"), 4, "count"))
		elsewhere.claim()
		require.EqualValues(t, 1, at(t, changes.data("lineageChanged", "statusCounts"), 1, "count"))
		elsewhere.cancel(chain[2], "c2")
		require.EqualValues(t, 4, at(t, changes.data("lineageChanged", "statusCounts"), 4, "count"))
		changes.requireComplete()
	})
}

func TestMalformedAbsentAndForeignJobsCannotBeFollowedAlike(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s := newServer(t)
		foreign := at(t, s.submit(batch, "b", "As", "bob"), "job", "id").(string)
		for _, query := range []string{jobQuery, lineageQuery} {
			var answers []any
			for _, id := range []string{"", "x", uuid.NewString(), foreign} {
				changes := subscribe(s, query, object{"id": id})
				answers = append(answers, changes.next().payload)
			}
			require.Contains(t, fmt.Sprint(answers[0]), "NOT_FOUND")
			for _, a := range answers[1:] {
				require.Equal(t, answers[0], a)
			}
			subscribe(s, query, object{"id": "x"}).requireRefused("NOT_FOUND")
		}
	})
}

func TestAFinalStateSurvivesTheLossOfEveryConnection(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		here, elsewhere := newPair(t)
		id := here.newJob("a")
		changes := subscribe(here, jobQuery, object{"id": id})
		require.Equal(t, "PENDING", changes.data("jobChanged", "status"))
		elsewhere.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		elsewhere.cancel(id, "c") // while nobody listens
		require.Equal(t, "CANCELLED", changes.data("jobChanged", "status"))
		changes.requireComplete()
	})
}

func TestTheDatabaseIsReadABoundedNumberOfTimesForAChange(t *testing.T) {
	t.Parallel()
	s, count := newCountingServer(t)
	root := s.cancelledJob("a")
	for i := range 50 {
		s.replay(root, batch, fmt.Sprintf("r%d", i))
	}
	const deep = `subscription($id: ID!) {lineageChanged(jobRecordId: $id) {
		jobCount jobs {nodes {id replaySource {id replays {nodes {id}}} replayRoot {id} lineage {jobCount}}}}}`
	before := count.Load()
	changes := s.overEvents(deep, object{"id": root})
	require.Len(t, changes.data("lineageChanged", "jobs", "nodes"), 51)
	require.LessOrEqual(t, count.Load()-before, int64(20))
}

func TestNoMoreStreamsAreOpenThanTheLimitsAllow(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s := newServer(t, func(c *graph.Config) {
			c.Feed = feed.New(feed.Config{Limits: feed.Limits{PerOwner: 1, Total: 2}})
		})
		mine := object{"id": s.newJob("a")}
		foreign := object{"id": at(t, s.submit(batch, "b", "As", "bob"), "job", "id")}
		first := subscribe(s, jobQuery, mine)
		first.data()
		subscribe(s, jobQuery, mine).requireRefused("TOO_MANY_STREAMS")
		subscribe(s, jobQuery, foreign, "As", "bob").data()
		first.close()
		pgtest.Eventually(t, "room again", func() bool {
			e := subscribe(s, jobQuery, mine).next()
			return e.kind == "next" && e.payload.(map[string]any)["errors"] == nil
		})
	})
}

func TestSubscriptionsMeetTheSameGuards(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s := newServer(t)
		for document, code := range map[string]string{
			`subscription {__typename}`:                                                                                                          "GRAPHQL_VALIDATION_FAILED",
			`subscription {jobChanged(jobRecordId: "a") @skip(if: true) {id}}`:                                                                   "GRAPHQL_VALIDATION_FAILED",
			`subscription {a: jobChanged(jobRecordId: "a") {id} b: jobChanged(jobRecordId: "b") {id}}`:                                           "GRAPHQL_VALIDATION_FAILED",
			`subscription {jobChanged(jobRecordId: "a") {id} lineageChanged(jobRecordId: "b") {jobCount}}`:                                       "GRAPHQL_VALIDATION_FAILED",
			`subscription {jobChanged(jobRecordId: "a") {` + nested(20) + `}}`:                                                                   "QUERY_TOO_COMPLEX",
			`subscription {lineageChanged(jobRecordId: "a") {jobs {nodes {lineage {edges {generation}}}}}}`:                                      "QUERY_TOO_COMPLEX",
			`subscription {lineageChanged(jobRecordId: "a") {...f0}}` + bomb(18, "Lineage", "a: root {lineage {NEXT}} b: root {lineage {NEXT}}"): "QUERY_TOO_COMPLEX",
			`subscription($x: Nope) {jobChanged(jobRecordId: "a") {id}}`:                                                                         "GRAPHQL_VALIDATION_FAILED",
			`subscription {`: "GRAPHQL_PARSE_FAILED",
		} {
			subscribe(s, document, nil).requireRefused(code)
		}
		require.Empty(t, s.log.String())
	})
}

func TestHostileDocumentsAreRefusedOnStreamsToo(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s := newServer(t)
		for _, hostile := range hostileDocuments {
			if hostile.code == "" || len(hostile.document) > 60<<10 {
				continue // no error, or over the limit of a message
			}
			told := subscribe(s, hostile.document, nil).next()
			require.Contains(t, fmt.Sprint(told.payload), "code:"+hostile.code, hostile.name)
			require.Less(t, len(fmt.Sprint(told.payload)), largestAnswer, hostile.name)
		}
	})
}

func TestQueriesAndMutationsAreStreamedToo(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s := newServer(t)
		submitted := subscribe(s, submitQuery, object{"payload": batch, "key": "k"})
		id := submitted.data("submitJob", "job", "id")
		submitted.requireComplete()
		read := subscribe(s, `query($id: ID!) {job(jobRecordId: $id) {status}}`, object{"id": id})
		require.Equal(t, "PENDING", read.data("job", "status"))
		read.requireComplete()
		partly := subscribe(s, `{job(jobRecordId: "x") {id} jobs(first: -1) {nodes {id}}}`, nil).next()
		require.Equal(t, "next", partly.kind)
		require.Contains(t, partly.payload, "data")
		require.Equal(t, "BAD_USER_INPUT", at(t, partly.payload, "errors", 0, "extensions", "code"))
	})
}

func TestASubscriptionIsNotAnsweredWithOneObject(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, accept := range []string{"", "application/json", "application/graphql-response+json, text/event-stream"} {
		got := s.post(jobQuery, object{"id": "x"}, "Accept", accept)
		require.Equal(t, 400, got.status, accept)
		require.Contains(t, got.body, "text/event-stream")
		require.Contains(t, got.body, "graphql-transport-ws")
	}
}

func TestAReadThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s, count := newCountingServer(t)
		id := s.newJob("a")
		s.exec("ALTER TABLE etl_job_records RENAME TO hidden")
		subscribe(s, lineageQuery, object{"id": id}).requireRefused("INTERNAL")
		s.exec("ALTER TABLE hidden RENAME TO etl_job_records")

		changes := subscribe(s, lineageQuery, object{"id": id})
		changes.data()
		s.exec("ALTER TABLE etl_job_records RENAME TO hidden")
		before := count.Load()
		s.feed.Notify(worker.Notice{})
		require.Eventually(t, func() bool { return count.Load() > before }, patience, time.Millisecond)
		s.exec("ALTER TABLE hidden RENAME TO etl_job_records")
		s.cancel(id, "c")
		s.feed.Notify(worker.Notice{})
		require.EqualValues(t, 1, at(t, changes.data("lineageChanged", "statusCounts"), 4, "count"))
		changes.requireComplete()
	})
}
