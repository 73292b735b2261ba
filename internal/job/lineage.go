package job

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// Lineage is a root and every job derived from it, seen from one of them. It is a tree, since one source may be
// replayed under several keys.
type Lineage struct {
	// Ancestry is the derived-from chain: the root first, the job asked for last.
	Ancestry []Job
	// Jobs holds the lineage by generation, and then by creation. When Truncated, only its beginning.
	Jobs []Job
	// StatusCounts counts the whole lineage by status, also when Truncated.
	StatusCounts map[Status]int
	// GenerationCount is the number of generations in the whole lineage, the root's included.
	GenerationCount int
	// Truncated reports that Jobs was cut at the limit.
	Truncated bool
}

// LineageSummary tells the size of a whole lineage.
type LineageSummary struct {
	// RootID is the first job of the lineage.
	RootID uuid.UUID
	// JobCount is the number of jobs, the root included.
	JobCount int
	// GenerationCount is the number of generations, the root's included.
	GenerationCount int
}

// Edge says that one job was derived from another.
type Edge struct {
	// Source is the job that was replayed, Derived the new job.
	Source, Derived uuid.UUID
	// Generation is that of the derived job.
	Generation int
}

// NewLineage makes the lineage of the job id from all of its jobs, in any order. It needs them complete: each source
// must be among them.
func NewLineage(id uuid.UUID, jobs []Job) Lineage {
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, byGeneration)
	counts := map[Status]int{}
	for _, j := range jobs {
		counts[j.Status]++
	}
	return Lineage{
		Ancestry:        ancestry(id, jobs),
		Jobs:            jobs,
		StatusCounts:    counts,
		GenerationCount: jobs[len(jobs)-1].Generation() + 1,
	}
}

// Root is the first job of the lineage.
func (l Lineage) Root() Job { return l.Ancestry[0] }

// Job is the one that was asked for.
func (l Lineage) Job() Job { return l.Ancestry[len(l.Ancestry)-1] }

// JobCount is the number of jobs in the whole lineage, also when it is truncated.
func (l Lineage) JobCount() int {
	n := 0
	for _, c := range l.StatusCounts {
		n += c
	}
	return n
}

// connected is what an export shows: Jobs and, should it be cut before the job asked for, that job's ancestry. Each job's
// source is among them, since a source has a lower generation.
func (l Lineage) connected() []Job {
	return append(slices.Clip(l.Jobs), slices.DeleteFunc(slices.Clone(l.Ancestry), l.contains)...)
}

func (l Lineage) contains(j Job) bool {
	_, found := slices.BinarySearchFunc(l.Jobs, j, byGeneration)
	return found
}

// Edges lists the derivations among jobs, in their order.
func Edges(jobs []Job) []Edge {
	edges := make([]Edge, 0, len(jobs))
	for _, j := range jobs {
		if d := j.Derivation; d != nil {
			edges = append(edges, Edge{Source: d.SourceID, Derived: j.ID, Generation: d.Generation})
		}
	}
	return edges
}

// byGeneration orders a lineage: ids are time-ordered, so they order the jobs of one generation by creation.
func byGeneration(a, b Job) int { return a.position().compare(b.position()) }

// position is j's place in its lineage.
func (j Job) position() Position { return Position{Generation: j.Generation(), ID: j.ID} }

func (p Position) compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Generation, q.Generation), bytes.Compare(p.ID[:], q.ID[:]))
}

// ancestry walks from the job id up to the root. Generations only fall on the way, so it ends.
func ancestry(id uuid.UUID, jobs []Job) []Job {
	byID := make(map[uuid.UUID]Job, len(jobs))
	for _, j := range jobs {
		byID[j.ID] = j
	}
	chain := []Job{byID[id]}
	for d := chain[0].Derivation; d != nil; d = chain[len(chain)-1].Derivation {
		chain = append(chain, byID[d.SourceID])
	}
	slices.Reverse(chain)
	return chain
}
