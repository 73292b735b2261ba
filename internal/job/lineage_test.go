package job

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// testID makes ids that are easy to read and sort like n.
func testID(n int) uuid.UUID {
	return uuid.UUID{6: 0x70, 8: 0x80, 14: byte(n >> 8), 15: byte(n)}
}

// testJob is job n of the lineage of job 0, derived from source; job 0 is a root.
func testJob(n int, status Status, source Job) Job {
	at := time.Date(2026, 11, 29, 12, 0, n, 120000, time.UTC)
	j := Job{ID: testID(n), Status: status, CreatedAt: at, UpdatedAt: at}
	if n > 0 {
		j.Derivation = &Derivation{SourceID: source.ID, RootID: testID(0), Generation: source.Generation() + 1}
	}
	return j
}

// smallLineage is a root (0) with two replays (1 and 2), the first of which has one of its own (3).
func smallLineage() []Job {
	root := testJob(0, StatusFailed, Job{})
	first := testJob(1, StatusCancelled, root)
	return []Job{root, first, testJob(2, StatusSucceeded, root), testJob(3, StatusPending, first)}
}

// drawTree makes a lineage of any shape, in any order.
func drawTree(t *rapid.T) []Job {
	size := rapid.IntRange(1, 40).Draw(t, "size")
	jobs := []Job{testJob(0, StatusFailed, Job{})}
	for n := 1; n < size; n++ {
		source := jobs[rapid.IntRange(0, n-1).Draw(t, "source")]
		jobs = append(jobs, testJob(n, rapid.SampledFrom(Statuses).Draw(t, "status"), source))
	}
	return rapid.Permutation(jobs).Draw(t, "jobs")
}

func TestALineageIsCompleteAndOrdered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawTree(t)
		given := slices.Clone(jobs)
		asked := rapid.SampledFrom(jobs).Draw(t, "asked")
		l := NewLineage(asked.ID, jobs)

		assert.Equal(t, given, jobs, "the given order stays")
		assert.ElementsMatch(t, jobs, l.Jobs)
		assert.True(t, slices.IsSortedFunc(l.Jobs, byGeneration))
		assert.Equal(t, len(jobs), l.JobCount())
		assert.Equal(t, testID(0), l.Root().ID)
		assert.Equal(t, asked, l.Job())
		assert.False(t, l.Truncated)
		for status, n := range l.StatusCounts {
			assert.Equal(t, len(slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return j.Status != status })), n)
		}
	})
}

func TestAncestryIsTheDerivedFromChain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawTree(t)
		asked := rapid.SampledFrom(jobs).Draw(t, "asked")
		l := NewLineage(asked.ID, jobs)

		require.Len(t, l.Ancestry, asked.Generation()+1)
		for generation, j := range l.Ancestry {
			assert.Equal(t, generation, j.Generation())
			if generation > 0 {
				assert.Equal(t, l.Ancestry[generation-1].ID, j.SourceID)
			}
		}
	})
}

func TestEveryJobButTheRootHasOneEdgeFromALowerGeneration(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := NewLineage(testID(0), drawTree(t))
		edges := Edges(l.Jobs)
		require.Len(t, edges, l.JobCount()-1)
		generations := map[uuid.UUID]int{l.Root().ID: 0}
		for i, e := range edges {
			generations[e.Derived] = e.Generation
			assert.Equal(t, l.Jobs[i+1].ID, e.Derived)
			assert.Equal(t, generations[e.Source]+1, e.Generation)
		}
	})
}

func TestGenerationCountIncludesTheRoots(t *testing.T) {
	t.Parallel()
	jobs := smallLineage()
	assert.Equal(t, 1, NewLineage(testID(0), jobs[:1]).GenerationCount)
	assert.Equal(t, 3, NewLineage(testID(0), jobs).GenerationCount)
}

func TestJobsOfOneGenerationAreOrderedByCreation(t *testing.T) {
	t.Parallel()
	jobs := smallLineage()
	slices.Reverse(jobs)
	assert.Equal(t, smallLineage(), NewLineage(testID(3), jobs).Jobs)
}

func TestALoadedLineagePagesLikeAStoredOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := NewLineage(testID(0), drawTree(t))
		request := PageRequest{Limit: rapid.IntRange(1, 45).Draw(t, "limit")}
		var seen []Job
		for {
			page, err := PageLineage(l, request)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Jobs), request.Limit)
			seen = append(seen, page.Jobs...)
			assert.Equal(t, len(seen) < l.JobCount(), page.More)
			if request.Cursor = page.Next(); request.Cursor == "" {
				break
			}
		}
		assert.Equal(t, l.Jobs, seen)
	})
}

func TestACutLineageEndsWhereItIsCut(t *testing.T) {
	t.Parallel()
	l := NewLineage(testID(3), smallLineage())
	beyond := lineageScope(testID(3)).encode(l.Jobs[2].position())
	l.Jobs, l.Truncated = l.Jobs[:1], true
	page, err := PageLineage(l, PageRequest{Limit: 1, Cursor: beyond})
	require.NoError(t, err)
	assert.Empty(t, page.Jobs)
	assert.False(t, page.More)
}

func TestALineagePageTakesOnlyItsOwnCursors(t *testing.T) {
	t.Parallel()
	l := NewLineage(testID(3), smallLineage())
	other := lineageScope(testID(2)).encode(Position{ID: testID(0)})
	for _, r := range []PageRequest{{Limit: 0}, {Limit: 101}, {Limit: 1, Cursor: "x"}, {Limit: 1, Cursor: other}} {
		_, err := PageLineage(l, r)
		require.Equal(t, Refuse(CodeInvalidPageRequest), err, r)
	}
}

func TestAnExportOfACutLineageKeepsTheAncestryOfTheJobAskedFor(t *testing.T) {
	t.Parallel()
	whole := NewLineage(testID(3), smallLineage())
	cut := whole
	cut.Jobs, cut.Truncated = whole.Jobs[:1], true

	assert.Equal(t, whole.Jobs, whole.connected())
	assert.Equal(t, []Job{whole.Jobs[0], whole.Jobs[1], whole.Jobs[3]}, cut.connected())
	assert.Equal(t, smallLineage(), whole.Jobs, "nothing is appended in place")
}
