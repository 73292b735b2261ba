package job_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
)

// collect reads a whole list, page by page.
func collect(t *testing.T, limit int, read func(job.PageRequest) (job.JobPage, error)) []job.Job {
	var all []job.Job
	request := job.PageRequest{Limit: limit}
	for {
		page, err := read(request)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Jobs), limit)
		all = append(all, page.Jobs...)
		require.Equal(t, page.More, page.Next() != "")
		if request.Cursor = page.Next(); request.Cursor == "" {
			return all
		}
		require.Equal(t, page.Cursor(page.Jobs[len(page.Jobs)-1]), request.Cursor)
	}
}

func TestJobsAreListedNewestFirstInPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.strangers()
	var submitted []job.Job
	for range 4 {
		submitted = append(submitted, f.submit())
	}
	slices.Reverse(submitted)
	for limit := 1; limit <= 5; limit++ {
		assert.Equal(t, submitted, collect(t, limit, func(r job.PageRequest) (job.JobPage, error) {
			return f.List(t.Context(), f.owner, job.Filter{}, r)
		}))
	}
}

func TestFiltersNarrowListsAndCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.in(job.StatusFailed)
	replay := f.replay(root)
	cancelled := f.in(job.StatusCancelled)
	yes, no := true, false
	for _, c := range []struct {
		filter job.Filter
		jobs   []job.Job
	}{
		{job.Filter{}, []job.Job{cancelled, replay, root}},
		{job.Filter{Statuses: []job.Status{job.StatusFailed, job.StatusCancelled}}, []job.Job{cancelled, root}},
		{job.Filter{Replay: &yes}, []job.Job{replay}},
		{job.Filter{Replay: &no}, []job.Job{cancelled, root}},
		{job.Filter{Unresolved: &yes}, []job.Job{cancelled}},
		{job.Filter{Unresolved: &no}, []job.Job{replay, root}},
		{job.Filter{CreatedAfter: &root.CreatedAt, CreatedBefore: &cancelled.CreatedAt}, []job.Job{replay}},
	} {
		page, err := f.List(t.Context(), f.owner, c.filter, job.PageRequest{Limit: job.MaxPageSize})
		require.NoError(t, err)
		assert.Equal(t, c.jobs, page.Jobs, "%+v", c.filter)

		counts, err := f.CountByStatus(t.Context(), f.owner, c.filter)
		require.NoError(t, err)
		expected := map[job.Status]job.Count{}
		for _, j := range c.jobs {
			expected[j.Status] = job.Count{Jobs: expected[j.Status].Jobs + 1}
		}
		assert.Equal(t, expected, counts, "%+v", c.filter)
	}
}

func TestABadPageRequestIsRefusedByEveryList(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	j := f.submit()
	first, err := f.List(t.Context(), f.owner, job.Filter{}, job.PageRequest{Limit: 1})
	require.NoError(t, err)
	otherList := first.Cursor(j)
	for _, r := range []job.PageRequest{{}, {Limit: -1}, {Limit: 101}, {Limit: 1, Cursor: "x"}, {Limit: 1, Cursor: otherList}} {
		_, err := f.List(t.Context(), f.owner, job.Filter{Statuses: []job.Status{job.StatusPending}}, r)
		requireRefused(t, job.CodeInvalidPageRequest, err)
		_, err = f.Replays(t.Context(), f.owner, []uuid.UUID{j.ID}, r)
		requireRefused(t, job.CodeInvalidPageRequest, err)
		_, err = f.LineagePage(t.Context(), f.owner, j.ID.String(), r)
		requireRefused(t, job.CodeInvalidPageRequest, err)
	}
	_, err = f.List(t.Context(), f.owner, job.Filter{Statuses: []job.Status{"DONE"}}, job.PageRequest{Limit: 1})
	requireRefused(t, job.CodeInvalidPageRequest, err)
}

func TestReplaysAreListedOldestFirstForEachSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source, other, leaf := f.in(job.StatusFailed), f.in(job.StatusFailed), f.in(job.StatusFailed)
	direct := []job.Job{f.replay(source), f.replay(source), f.replay(source)}
	indirect := f.replay(f.cancel(direct[2]))
	direct[2] = f.get(direct[2])
	ofOther := f.replay(other)

	pages, err := f.Replays(t.Context(), f.owner, []uuid.UUID{source.ID, other.ID, leaf.ID}, job.PageRequest{Limit: 2})
	require.NoError(t, err)
	require.Len(t, pages, 3)
	assert.Equal(t, direct[:2], pages[source.ID].Jobs)
	assert.True(t, pages[source.ID].More)
	assert.Equal(t, []job.Job{ofOther}, pages[other.ID].Jobs)
	assert.Empty(t, pages[leaf.ID].Jobs)
	assert.Empty(t, pages[leaf.ID].Next())
	assert.NotContains(t, pages[source.ID].Jobs, indirect)

	assert.Equal(t, direct, collect(t, 1, func(r job.PageRequest) (job.JobPage, error) {
		pages, err := f.Replays(t.Context(), f.owner, []uuid.UUID{source.ID}, r)
		return pages[source.ID], err
	}))

	none, err := f.Replays(t.Context(), f.owner, nil, job.PageRequest{})
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestAttemptsOfNoJobsAreNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	none, err := f.Attempts(t.Context(), f.owner, nil, job.PageRequest{})
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestAPageOfAttemptsNeedsACursorOfThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.AttemptsOf(t.Context(), f.owner, f.submit().ID.String(), job.PageRequest{Cursor: "of something else"})
	assert.Error(t, err)
}

func TestALineageIsTheSameFromEachOfItsJobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.submit()
	root := f.in(job.StatusCancelled)
	first, second := f.cancel(f.replay(root)), f.replay(root)
	third := f.replay(first)
	jobs := []job.Job{root, first, second, third}
	for _, asked := range jobs {
		l, err := f.Lineage(t.Context(), f.owner, asked.ID.String())
		require.NoError(t, err)
		assert.Equal(t, job.NewLineage(asked.ID, jobs), l)

		var summary job.LineageSummary
		assert.Equal(t, jobs, collect(t, 3, func(r job.PageRequest) (job.JobPage, error) {
			page, err := f.LineagePage(t.Context(), f.owner, asked.ID.String(), r)
			summary = page.LineageSummary
			return page.JobPage, err
		}))
		assert.Equal(t, job.LineageSummary{RootID: root.ID, JobCount: 4, GenerationCount: 3}, summary)
	}
}

func TestACursorOfALoadedLineageIsOneOfTheStoredLineageToo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.in(job.StatusFailed)
	replay := f.replay(root)
	l, err := f.Lineage(t.Context(), f.owner, replay.ID.String())
	require.NoError(t, err)
	loaded, err := job.PageLineage(l, job.PageRequest{Limit: 1})
	require.NoError(t, err)
	assert.Equal(t, []job.Job{root}, loaded.Jobs)
	stored, err := f.LineagePage(t.Context(), f.owner, replay.ID.String(), job.PageRequest{Limit: 1, Cursor: loaded.Next()})
	require.NoError(t, err)
	assert.Equal(t, []job.Job{replay}, stored.Jobs)
}

func TestManyReadsReturnOnlyTheOwnersJobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.submit()
	ids := []uuid.UUID{mine.ID}
	for _, id := range f.strangers()[2:] {
		ids = append(ids, uuid.MustParse(id))
	}
	jobs, err := f.Jobs(t.Context(), f.owner, ids)
	require.NoError(t, err)
	assert.Equal(t, map[uuid.UUID]job.Job{mine.ID: mine}, jobs)

	lineages, err := f.Lineages(t.Context(), f.owner, ids)
	require.NoError(t, err)
	assert.Equal(t, map[uuid.UUID]job.Lineage{mine.ID: job.NewLineage(mine.ID, []job.Job{mine})}, lineages)
}

func TestEveryCallSaysThatTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	f := newFixtureOn(t, pgtest.PoolOn(t, server.URL()), patient)
	id := f.submit().ID
	server.Crash(t)

	ctx, page := t.Context(), job.PageRequest{Limit: 1}
	for name, call := range map[string]func() error{
		"submit":       func() error { _, err := f.Submit(ctx, f.owner, key("k"), batch); return err },
		"cancel":       func() error { _, err := f.Cancel(ctx, f.owner, id.String(), key("k"), ""); return err },
		"replay":       func() error { _, err := f.Replay(ctx, f.owner, id.String(), key("k"), batch); return err },
		"get":          func() error { _, err := f.Get(ctx, f.owner, id.String()); return err },
		"jobs":         func() error { _, err := f.Jobs(ctx, f.owner, []uuid.UUID{id}); return err },
		"list":         func() error { _, err := f.List(ctx, f.owner, job.Filter{}, page); return err },
		"count":        func() error { _, err := f.CountByStatus(ctx, f.owner, job.Filter{}); return err },
		"attempts":     func() error { _, err := f.Attempts(ctx, f.owner, []uuid.UUID{id}, page); return err },
		"replays":      func() error { _, err := f.Replays(ctx, f.owner, []uuid.UUID{id}, page); return err },
		"lineage":      func() error { _, err := f.Lineage(ctx, f.owner, id.String()); return err },
		"lineages":     func() error { _, err := f.Lineages(ctx, f.owner, []uuid.UUID{id}); return err },
		"lineage page": func() error { _, err := f.LineagePage(ctx, f.owner, id.String(), page); return err },
	} {
		assert.Equal(t, job.Refuse(job.CodeDatabaseUnavailable), call(), name)
	}
	assert.Equal(t, []int{0}, f.created)
}
