package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// chain is a lineage of jobs, each replayed from the one before.
func chain(length int) []job.Job {
	now := time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)
	jobs := make([]job.Job, length)
	for i := range jobs {
		jobs[i] = job.Job{
			ID: uuid.Must(uuid.NewV7()), Status: job.StatusFailed, AttemptCount: 1, RecordCount: 3,
			FailureCode: job.FailureTarget, CreatedAt: now, UpdatedAt: now,
		}
		if i > 0 {
			jobs[i].Derivation = &job.Derivation{SourceID: jobs[i-1].ID, RootID: jobs[0].ID, Generation: i}
		}
	}
	return jobs
}

// BenchmarkStatus writes one job with its entity tag, as the answer to a poll is made.
func BenchmarkStatus(b *testing.B) {
	j := chain(1)[0]
	b.ReportAllocs()
	for b.Loop() {
		entityTag(represent(newStatus(&j)).body)
	}
}

func BenchmarkLineageOfHundredJobs(b *testing.B) {
	jobs := chain(100)
	page := job.LineagePage{
		LineageSummary: job.LineageSummary{RootID: jobs[0].ID, JobCount: 100, GenerationCount: 100},
		JobPage:        job.JobPage{Jobs: jobs},
	}
	b.ReportAllocs()
	for b.Loop() {
		entityTag(represent(newLineage(jobs[99].ID.String(), page)).body)
	}
}

func BenchmarkNoneMatch(b *testing.B) {
	tag := entityTag([]byte("body"))
	header := http.Header{"If-None-Match": {`W/"another", ` + tag}}
	b.ReportAllocs()
	for b.Loop() {
		if !noneMatchFails(header, tag) {
			b.Fatal("the tag is in the list")
		}
	}
}

func BenchmarkIdempotencyKey(b *testing.B) {
	header := http.Header{"Idempotency-Key": {`"3b2b1f4e-2f5c-4f6b-9d6a-2f8f0c1f6a11"`}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := idempotencyKey(header); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProblem(b *testing.B) {
	h := &handler{Config: Config{Log: slog.New(slog.DiscardHandler), OnProblem: func(context.Context, job.Code) {}}}
	request := httptest.NewRequest(http.MethodGet, "/api/etl/jobs/absent", nil)
	b.ReportAllocs()
	for b.Loop() {
		h.refuse(httptest.NewRecorder(), request, job.Refuse(job.CodeJobNotFound))
	}
}
