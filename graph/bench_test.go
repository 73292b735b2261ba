package graph_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fencepost/graph"
	"fencepost/internal/auth"
	"fencepost/internal/job"
	"fencepost/internal/ratelimit"
)

// memory answers from what it is given, so that a benchmark sees only what GraphQL itself costs.
type memory struct {
	job.Store
	jobs []job.Job
}

func (m memory) Jobs(context.Context, job.Owner, []uuid.UUID) (map[uuid.UUID]job.Job, error) {
	return map[uuid.UUID]job.Job{m.jobs[0].ID: m.jobs[0]}, nil
}

func (m memory) Lineages(_ context.Context, _ job.Owner, ids []uuid.UUID, _ int) (map[uuid.UUID]job.Lineage, error) {
	return map[uuid.UUID]job.Lineage{ids[0]: job.NewLineage(ids[0], m.jobs)}, nil
}

func (m memory) Cancel(context.Context, job.Owner, uuid.UUID, job.Hash, string) (job.CancelResult, error) {
	return job.CancelResult{Job: m.jobs[0], Transitioned: true}, nil
}

// newMemory makes a lineage: a root and a chain of replays.
func newMemory(size int) memory {
	now := time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)
	jobs := make([]job.Job, size)
	for i := range jobs {
		jobs[i] = job.Job{
			ID: uuid.Must(uuid.NewV7()), Status: job.StatusFailed, AttemptCount: 1, RecordCount: 3,
			FailureCode: job.FailureTarget, CreatedAt: now, UpdatedAt: now,
		}
		if i > 0 {
			jobs[i].Derivation = &job.Derivation{SourceID: jobs[i-1].ID, RootID: jobs[0].ID, Generation: i}
		}
	}
	return memory{jobs: jobs}
}

// benchmarkQuery sends a document over and over, without a network. The first time, which also parses it, is not counted.
func benchmarkQuery(b *testing.B, m memory, document string, variables map[string]any) {
	handler := graph.NewHandler(graph.Config{
		Service: job.NewService(m, limits, job.Unobserved{}),
		Limiter: ratelimit.New(ratelimit.Rates{}, time.Now),
		Log:     slog.New(slog.DiscardHandler),
	})
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		b.Fatal(err)
	}
	ctx := auth.WithOwner(b.Context(), ann)
	send := func() {
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(string(body)))
		request.Header.Set("Content-Type", "application/json")
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if text := response.Body.String(); response.Code != http.StatusOK || !strings.Contains(text, m.jobs[0].ID.String()) {
			b.Fatal(response.Code, text)
		}
	}
	send()
	b.ReportAllocs()
	for b.Loop() {
		send()
	}
}

const jobFields = `id status attemptCount recordCount failureCode cancellationCode createdAt updatedAt cancelledAt replayGeneration`

func BenchmarkQueryJob(b *testing.B) {
	m := newMemory(1)
	benchmarkQuery(b, m, `query Job($id: ID!) { job(jobRecordId: $id) { `+jobFields+` } }`, map[string]any{"id": m.jobs[0].ID})
}

func BenchmarkQueryLineageOfHundredJobs(b *testing.B) {
	m := newMemory(100)
	benchmarkQuery(b, m, `query Lineage($id: ID!) { lineage(jobRecordId: $id) { jobCount generationCount
		jobs(first: 100) { nodes { `+jobFields+` } }
		edges { source { id } derived { id } generation } } }`, map[string]any{"id": m.jobs[99].ID})
}

func BenchmarkMutationCancelJob(b *testing.B) {
	m := newMemory(1)
	benchmarkQuery(b, m, `mutation Cancel($id: ID!) { cancelJob(input: {jobRecordId: $id, idempotencyKey: "k"}) {
		... on CancelJobSuccess { idempotencyReplayed job { `+jobFields+` } }
		... on Problem { code detail } } }`, map[string]any{"id": m.jobs[0].ID})
}
