package job

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

func BenchmarkOwnerOf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		OwnerOf("a-principal")
	}
}

func BenchmarkCancellationKeyHash(b *testing.B) {
	owner, id, key := OwnerOf("a-principal"), newID(), Key{text: "3b2b1f4e-2f5c-4f6b-9d6a-2f8f0c1f6a11"}
	b.ReportAllocs()
	for b.Loop() {
		cancellationKeyHash(owner, id, key)
	}
}

// chain is a lineage of jobs, each replayed from the one before.
func chain(length int) []Job {
	now := time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)
	jobs := make([]Job, length)
	for i := range jobs {
		jobs[i] = Job{ID: newID(), Status: StatusFailed, FailureCode: FailureTarget, CreatedAt: now, UpdatedAt: now}
		if i > 0 {
			jobs[i].Derivation = &Derivation{SourceID: jobs[i-1].ID, RootID: jobs[0].ID, Generation: i}
		}
	}
	return jobs
}

func BenchmarkNewLineageOfHundredJobs(b *testing.B) {
	jobs := chain(100)
	b.ReportAllocs()
	for b.Loop() {
		NewLineage(jobs[99].ID, jobs)
	}
}

func BenchmarkMermaidOfHundredJobs(b *testing.B) {
	jobs := chain(100)
	lineage := NewLineage(jobs[99].ID, jobs)
	b.ReportAllocs()
	for b.Loop() {
		lineage.Mermaid()
	}
}

func BenchmarkProvenanceOfHundredJobs(b *testing.B) {
	jobs := chain(100)
	lineage := NewLineage(jobs[99].ID, jobs)
	b.ReportAllocs()
	for b.Loop() {
		lineage.Provenance(nil)
	}
}

func BenchmarkCursor(b *testing.B) {
	scope, position := jobsScope(Filter{Statuses: []Status{StatusFailed}}), Position{ID: uuid.Max}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scope.decode(scope.encode(position)); err != nil {
			b.Fatal(err)
		}
	}
}
