package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

func (w *world) list(f job.Filter) []uuid.UUID {
	w.Helper()
	page, err := w.service.List(w.Context(), w.owner, f, job.PageRequest{Limit: job.MaxPageSize})
	require.NoError(w, err)
	return ids(page.Jobs)
}

func ids(jobs []job.Job) []uuid.UUID {
	var list []uuid.UUID
	for _, j := range jobs {
		list = append(list, j.ID)
	}
	return list
}

func TestListIsNewestFirstAndPagedWithoutGaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var submitted []uuid.UUID
	for range 7 {
		submitted = append([]uuid.UUID{w.submit().ID}, submitted...)
	}
	var seen []uuid.UUID
	request := job.PageRequest{Limit: 3}
	for more := true; more; more = request.Cursor != "" {
		page, err := w.service.List(t.Context(), w.owner, job.Filter{}, request)
		require.NoError(t, err)
		seen = append(seen, ids(page.Jobs)...)
		request.Cursor = page.Next()
		w.submit() // newer jobs do not move the pages
	}
	require.Equal(t, submitted, seen)
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded, failed, cancelled := w.succeeded(), w.failed(), w.cancelled()
	replay, err := w.replay(failed, "k")
	require.NoError(t, err)
	yes, no := true, false
	between := func(after, before time.Time) job.Filter {
		return job.Filter{CreatedAfter: &after, CreatedBefore: &before}
	}
	for name, c := range map[string]struct {
		filter job.Filter
		want   []job.Job
	}{
		"none":        {job.Filter{}, []job.Job{replay.Job, cancelled, failed, succeeded}},
		"status":      {job.Filter{Statuses: []job.Status{job.StatusFailed, job.StatusSucceeded}}, []job.Job{failed, succeeded}},
		"replays":     {job.Filter{Replay: &yes}, []job.Job{replay.Job}},
		"roots":       {job.Filter{Replay: &no}, []job.Job{cancelled, failed, succeeded}},
		"unresolved":  {job.Filter{Unresolved: &yes}, []job.Job{cancelled}},
		"resolved":    {job.Filter{Unresolved: &no}, []job.Job{replay.Job, failed, succeeded}},
		"created":     {between(succeeded.CreatedAt, cancelled.CreatedAt), []job.Job{failed}},
		"after":       {job.Filter{CreatedAfter: &failed.CreatedAt}, []job.Job{replay.Job, cancelled}},
		"before":      {job.Filter{CreatedBefore: &failed.CreatedAt}, []job.Job{succeeded}},
		"all at once": {job.Filter{Statuses: []job.Status{job.StatusCancelled}, Replay: &no, Unresolved: &yes}, []job.Job{cancelled}},
		"nothing":     {job.Filter{Statuses: []job.Status{job.StatusRunning}}, nil},
	} {
		require.Equal(t, ids(c.want), w.list(c.filter), name)
		counts, err := w.service.CountByStatus(t.Context(), w.owner, c.filter)
		require.NoError(t, err)
		total := 0
		for _, n := range counts {
			total += n
		}
		require.Equal(t, len(c.want), total, name)
	}
}

func TestUnresolvedLooksAtEveryDescendant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yes := true
	root := w.failed()
	require.Equal(t, []uuid.UUID{root.ID}, w.list(job.Filter{Unresolved: &yes}))

	first, err := w.replay(root, "k1")
	require.NoError(t, err)
	require.Empty(t, w.list(job.Filter{Unresolved: &yes}), "a descendant is active")

	_, err = w.cancel(first.Job, "c")
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{first.Job.ID, root.ID}, w.list(job.Filter{Unresolved: &yes}))

	_, err = w.replay(first.Job, "k2")
	require.NoError(t, err)
	require.NoError(t, w.store.Execute(t.Context(), w.claim()))
	require.Empty(t, w.list(job.Filter{Unresolved: &yes}), "a descendant of a descendant succeeded")
}

// family makes a root with two replays, of which the first has two replays of its own.
func (w *world) family() []job.Job {
	w.Helper()
	replayAndCancel := func(source job.Job, name string) job.Job {
		accepted, err := w.replay(source, name+uuid.NewString())
		require.NoError(w, err)
		cancelled, err := w.cancel(accepted.Job, "c")
		require.NoError(w, err)
		return cancelled.Job
	}
	root := w.failed()
	a, b := replayAndCancel(root, "a"), replayAndCancel(root, "b")
	return []job.Job{root, a, b, replayAndCancel(a, "aa"), replayAndCancel(a, "ab")}
}

func TestLineageIsTheSameTreeFromEveryMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.family()
	w.family()
	lineages, err := w.service.Lineages(t.Context(), w.owner, append(ids(family), uuid.New()))
	require.NoError(t, err)
	require.Len(t, lineages, len(family))
	for _, j := range family {
		l := lineages[j.ID]
		require.Equal(t, family, l.Jobs)
		require.Equal(t, family[0], l.Root())
		require.Equal(t, j, l.Job())
		require.Equal(t, 3, l.GenerationCount)
		require.Equal(t, map[job.Status]int{job.StatusFailed: 1, job.StatusCancelled: 4}, l.StatusCounts)
		require.False(t, l.Truncated)
	}
	require.Equal(t, []job.Job{family[0], family[1], family[4]}, lineages[family[4].ID].Ancestry)
}

func TestLineageHasNoJobOfAnotherOwnerEvenAmongTwins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.failed()
	replay, err := w.replay(root, "k")
	require.NoError(t, err)
	lineage := func(limit int) job.Lineage {
		lineages, err := w.store.Lineages(t.Context(), w.owner, []uuid.UUID{replay.Job.ID}, limit)
		require.NoError(t, err)
		return lineages[replay.Job.ID]
	}
	whole, cut := lineage(100), lineage(1) // of the second, what is missing is counted
	w.twins(job.OwnerOf("owner b"))
	require.Equal(t, whole, lineage(100))
	require.Equal(t, cut, lineage(1))
}

func TestLineageOverTheLimitIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.family()
	other := w.failed()
	lineages, err := w.store.Lineages(t.Context(), w.owner, append(ids(family), other.ID), 2)
	require.NoError(t, err)
	whole := job.NewLineage(family[4].ID, family)
	cut := lineages[family[4].ID]
	require.Equal(t, family[:2], cut.Jobs)
	require.True(t, cut.Truncated)
	require.Empty(t, cmp.Diff(whole.Ancestry, cut.Ancestry))
	require.Equal(t, whole.StatusCounts, cut.StatusCounts)
	require.Equal(t, whole.GenerationCount, cut.GenerationCount)
	require.False(t, lineages[other.ID].Truncated)
}

func TestLineagePagesHoldEveryJobOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.family()
	for limit := 1; limit <= len(family)+1; limit++ {
		var seen []job.Job
		request := job.PageRequest{Limit: limit}
		for more := true; more; more = request.Cursor != "" {
			page, err := w.service.LineagePage(t.Context(), w.owner, family[3].ID.String(), request)
			require.NoError(t, err)
			require.Equal(t, job.LineageSummary{RootID: family[0].ID, JobCount: 5, GenerationCount: 3}, page.LineageSummary)
			seen = append(seen, page.Jobs...)
			request.Cursor = page.Next()
		}
		require.Equal(t, family, seen, fmt.Sprint("pages of ", limit))
	}
	_, err := w.service.LineagePage(t.Context(), w.owner, uuid.NewString(), job.PageRequest{Limit: 1})
	requireProblem(t, job.CodeJobNotFound, err)
}

func TestReplaysOfSeveralSourcesComeInOrderOfCreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.family()
	pages, err := w.service.Replays(t.Context(), w.owner, []uuid.UUID{family[0].ID, family[1].ID, family[2].ID}, job.PageRequest{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []job.Job{family[1]}, pages[family[0].ID].Jobs)
	require.Equal(t, []job.Job{family[3]}, pages[family[1].ID].Jobs)
	require.Empty(t, pages[family[2].ID].Jobs)

	next, err := w.service.Replays(t.Context(), w.owner, []uuid.UUID{family[0].ID}, job.PageRequest{Limit: 1, Cursor: pages[family[0].ID].Next()})
	require.NoError(t, err)
	require.Equal(t, []job.Job{family[2]}, next[family[0].ID].Jobs)
	require.False(t, next[family[0].ID].More)
}
