package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/graph/model"
	"fencepost/jobtype"
)

const (
	submitQuery = `mutation($payload: String!, $key: String!) {
		submitJob(input: {requestPayload: $payload, idempotencyKey: $key}) {
			__typename
			... on SubmitJobSuccess { idempotencyReplayed job { id status recordCount canCancel canReplay replayProblem } }
			... on Problem { code errorCode type title status detail retryAfter relatedJob { id } errors { pointer code } offset }
		}
	}`
	cancelQuery = `mutation($id: ID!, $key: String!, $reason: String) {
		cancelJob(input: {jobRecordId: $id, idempotencyKey: $key, reasonCode: $reason}) {
			__typename
			... on CancelJobSuccess { idempotencyReplayed job { id status cancellationCode cancelledAt cancelProblem canReplay } }
			... on Problem { code errorCode retryAfter allowed relatedJob { id status } }
		}
	}`
	replayQuery = `mutation($source: ID!, $payload: String!, $key: String!) {
		replayJob(input: {sourceJobRecordId: $source, requestPayload: $payload, idempotencyKey: $key}) {
			__typename
			... on ReplayJobSuccess { idempotencyReplayed job { id status replayGeneration replaySource { id } replayRoot { id } } }
			... on Problem { code errorCode retryAfter relatedJob { id status } }
		}
	}`
	batch = `[{"id": "a"}, {"id": "b"}]`
)

func (s *server) submit(payload, key string, headers ...string) map[string]any {
	s.t.Helper()
	return s.data(submitQuery, object{"payload": payload, "key": key}, headers...)["submitJob"].(map[string]any)
}

func (s *server) cancel(id, key string) map[string]any {
	s.t.Helper()
	return s.data(cancelQuery, object{"id": id, "key": key})["cancelJob"].(map[string]any)
}

func (s *server) cancelFor(reason any, id string) map[string]any {
	s.t.Helper()
	return s.data(cancelQuery, object{"id": id, "key": "k", "reason": reason})["cancelJob"].(map[string]any)
}

func (s *server) replay(source, payload, key string) map[string]any {
	s.t.Helper()
	return s.data(replayQuery, object{"source": source, "payload": payload, "key": key})["replayJob"].(map[string]any)
}

// newJob submits a batch and returns the job's id.
func (s *server) newJob(key string) string {
	s.t.Helper()
	return at(s.t, s.submit(batch, key), "job", "id").(string)
}

// cancelledJob submits a batch and cancels it.
func (s *server) cancelledJob(key string) string {
	s.t.Helper()
	id := s.newJob(key)
	require.Equal(s.t, "CancelJobSuccess", s.cancel(id, key)["__typename"])
	return id
}

func TestACancellationNamesItsReason(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.newJob("k")
	cancelled := s.cancelFor("wrong_batch", id)
	require.Equal(t, "wrong_batch", at(t, cancelled, "job", "cancellationCode"))
	again := s.cancelFor("wrong_batch", id)
	require.Equal(t, true, again["idempotencyReplayed"])
	require.Equal(t, cancelled["job"], again["job"])
	for _, reason := range []any{"superseded", nil} {
		refused := s.cancelFor(reason, id)
		require.Equal(t, "ETL_JOB_CANCELLATION_KEY_REUSED", refused["code"])
		require.Nil(t, refused["allowed"])
	}
	for i, reason := range []any{nil, "", "etl_job_cancelled_by_owner"} {
		require.Equal(t, "etl_job_cancelled_by_owner", at(t, s.cancelFor(reason, s.newJob(fmt.Sprint(i))), "job", "cancellationCode"))
	}
}

func TestAnInvalidRecordIsNamedByItsPlace(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	refused := s.submit(`[{"id": "a"}, {"secret": 1}, 5]`, "k")
	require.Equal(t, "ETL_INVALID_RECORD", refused["code"])
	require.Equal(t, []any{
		map[string]any{"pointer": "/1/id", "code": "MISSING_ID"}, map[string]any{"pointer": "/2", "code": "NOT_AN_OBJECT"},
	}, refused["errors"])
	require.Nil(t, refused["offset"])
	refused = s.submit(`[{"id": "é"},]`, "k")
	require.Equal(t, "ETL_INVALID_JSON", refused["code"])
	require.Nil(t, refused["errors"])
	require.InDelta(t, 13, refused["offset"], 0)
	for _, code := range jobtype.RecordErrorCodes {
		require.True(t, model.RecordErrorCode(strings.ToUpper(string(code))).IsValid(), code)
	}
	require.Len(t, model.AllRecordErrorCode, len(jobtype.RecordErrorCodes))
}

func TestNothingOfARecordIsToldByAProblem(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, payload := range []string{
		`[{"secret": "secret"}]`, `[["secret"]]`, `[{"id": {"secret": 1}}]`, `[{"id": "secret\u200b"}]`, `[{"id": "secret", "secret": [1e1000]}]`,
		`[{"id": "secret", "secret": "\u0000"}]`, `[{"id": "secret", "secret": 1, "secret": 2}]`, `[{"id": "secret"`, `[secret]`, `[] secret`,
	} {
		refused := s.submit(payload, "k")
		require.Equal(t, "Problem", refused["__typename"], payload)
		require.NotContains(t, fmt.Sprint(refused), "secret")
	}
}

func TestAReasonThatIsNotAllowedIsToldThoseThatAre(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.newJob("k")
	for _, reason := range []string{"maintenance", " ", "wrong_batch "} {
		require.Equal(t, map[string]any{
			"__typename": "Problem", "code": "ETL_INVALID_CANCELLATION_REASON", "errorCode": "etl_invalid_cancellation_reason",
			"retryAfter": nil, "relatedJob": nil, "allowed": []any{"etl_job_cancelled_by_owner", "wrong_batch", "superseded"},
		}, s.cancelFor(reason, id))
	}
	require.Equal(t, "CancelJobSuccess", s.cancelFor("superseded", id)["__typename"])
}

func TestSubmitCancelReplayAndLineageTellOneStory(t *testing.T) {
	t.Parallel()
	s := newServer(t)

	submitted := s.submit(batch, "s1")
	require.Equal(t, "SubmitJobSuccess", submitted["__typename"])
	require.Equal(t, false, submitted["idempotencyReplayed"])
	id := at(t, submitted, "job", "id").(string)
	require.Equal(t, object{
		"id": id, "status": "PENDING", "recordCount": 2.0,
		"canCancel": true, "canReplay": false, "replayProblem": "ETL_JOB_REPLAY_SOURCE_ACTIVE",
	}, object(submitted["job"].(map[string]any)))
	require.Equal(t, true, s.submit(batch, "s1")["idempotencyReplayed"])

	cancelled := s.cancel(id, "c1")
	require.Equal(t, "CANCELLED", at(t, cancelled, "job", "status"))
	require.Equal(t, "etl_job_cancelled_by_owner", at(t, cancelled, "job", "cancellationCode"))
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`, at(t, cancelled, "job", "cancelledAt"))
	require.Equal(t, "ETL_JOB_CANCELLATION_KEY_REUSED", at(t, cancelled, "job", "cancelProblem"))
	require.Equal(t, true, s.cancel(id, "c1")["idempotencyReplayed"])

	replayed := s.replay(id, batch, "r1")
	require.Equal(t, "ReplayJobSuccess", replayed["__typename"])
	require.Equal(t, id, at(t, replayed, "job", "replaySource", "id"))
	require.Equal(t, id, at(t, replayed, "job", "replayRoot", "id"))
	require.Equal(t, true, s.replay(id, batch, "r1")["idempotencyReplayed"])
	replayID := at(t, replayed, "job", "id").(string)

	lineage := s.data(`query($id: ID!) { lineage(jobRecordId: $id) {
		root { id replaySource { id } replayRoot { id } } job { id } ancestry { id } generationCount jobCount truncated
		jobs { nodes { id } edges { node { id } cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }
		edges { source { id status } derived { id } generation }
		statusCounts { status count } provenance mermaid
	} }`, object{"id": replayID})["lineage"]
	require.Equal(t, id, at(t, lineage, "root", "id"))
	require.Nil(t, at(t, lineage, "root", "replaySource"))
	require.Nil(t, at(t, lineage, "root", "replayRoot"))
	require.Equal(t, replayID, at(t, lineage, "job", "id"))
	require.Equal(t, []any{map[string]any{"id": id}, map[string]any{"id": replayID}}, at(t, lineage, "ancestry"))
	require.Equal(t, []any{map[string]any{"id": id}, map[string]any{"id": replayID}}, at(t, lineage, "jobs", "nodes"))
	require.Equal(t, at(t, lineage, "jobs", "edges", 1, "cursor"), at(t, lineage, "jobs", "pageInfo", "endCursor"))
	require.Equal(t, []any{map[string]any{
		"source":  map[string]any{"id": id, "status": "CANCELLED"},
		"derived": map[string]any{"id": replayID}, "generation": 1.0,
	}}, at(t, lineage, "edges"))
	require.Equal(t, map[string]any{"status": "CANCELLED", "count": 1.0}, at(t, lineage, "statusCounts", 4))
	require.EqualValues(t, 2, at(t, lineage, "jobCount"))
	require.EqualValues(t, 2, at(t, lineage, "generationCount"))
	require.Equal(t, false, at(t, lineage, "truncated"))
	require.Contains(t, at(t, lineage, "provenance"), "urn:uuid:"+replayID)
	require.Contains(t, at(t, lineage, "mermaid"), "flowchart")
}
