package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/faultproxy"
	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
)

func TestListIsNewestFirstAndPagedWithoutGaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var submitted []uuid.UUID
	for range 7 {
		submitted = append([]uuid.UUID{w.Submit().ID}, submitted...)
	}
	var seen []uuid.UUID
	request := job.PageRequest{Limit: 3}
	for more := true; more; more = request.Cursor != "" {
		page, err := w.Service.List(t.Context(), w.Owner, job.Filter{}, request)
		require.NoError(t, err)
		seen = append(seen, storetest.IDs(page.Jobs)...)
		request.Cursor = page.Next()
		w.Submit() // newer jobs do not move the pages
	}
	require.Equal(t, submitted, seen)
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded, failed, cancelled := w.SucceededJob(), w.FailedJob(), w.CancelledJob()
	replay, err := w.Replay(failed, "k")
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
		require.Equal(t, storetest.IDs(c.want), w.List(c.filter), name)
		counts, err := w.Service.CountByStatus(t.Context(), w.Owner, c.filter)
		require.NoError(t, err)
		total := 0
		for _, n := range counts {
			total += n.Jobs
		}
		require.Equal(t, len(c.want), total, name)
	}
}

func TestUnresolvedLooksAtEveryDescendant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yes := true
	root := w.FailedJob()
	require.Equal(t, []uuid.UUID{root.ID}, w.List(job.Filter{Unresolved: &yes}))

	first, err := w.Replay(root, "k1")
	require.NoError(t, err)
	require.Empty(t, w.List(job.Filter{Unresolved: &yes}), "a descendant is active")

	_, err = w.Cancel(first.Job, "c")
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{first.Job.ID, root.ID}, w.List(job.Filter{Unresolved: &yes}))

	_, err = w.Replay(first.Job, "k2")
	require.NoError(t, err)
	require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
	require.Empty(t, w.List(job.Filter{Unresolved: &yes}), "a descendant of a descendant succeeded")
}

func TestLineageIsTheSameTreeFromEveryMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.Family()
	w.Family()
	lineages, err := w.Service.Lineages(t.Context(), w.Owner, append(storetest.IDs(family), uuid.New()))
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
	root := w.FailedJob()
	replay, err := w.Replay(root, "k")
	require.NoError(t, err)
	lineage := func(limit int) job.Lineage {
		lineages, err := w.Store.Lineages(t.Context(), w.Owner, []uuid.UUID{replay.Job.ID}, limit)
		require.NoError(t, err)
		return lineages[replay.Job.ID]
	}
	whole, cut := lineage(100), lineage(1) // of the second, what is missing is counted
	w.Twins(job.OwnerOf("owner b"))
	require.Equal(t, whole, lineage(100))
	require.Equal(t, cut, lineage(1))
}

func TestLineageOverTheLimitIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.Family()
	other := w.FailedJob()
	lineages, err := w.Store.Lineages(t.Context(), w.Owner, append(storetest.IDs(family), other.ID), 2)
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

func TestLineageThatIsPurgedWhileItIsReadIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.Family()
	proxy := faultproxy.Start(t, w.URL)
	far := storetest.On(t, proxy.URL())
	counted := proxy.Hold(faultproxy.AfterCommit, statements.Named("lineage sizes").SQL)
	read := storetest.Async(func() (map[uuid.UUID]job.Lineage, error) {
		return far.Store.Lineages(w.Context(), w.Owner, storetest.IDs(family), 2)
	})
	counted.Wait(t)
	tx := w.BeginAsAdmin()
	for _, sql := range []string{"SET LOCAL session_replication_role = replica", "DELETE FROM etl_job_records"} {
		_, err := tx.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
	counted.Pass(t)
	require.Equal(t, storetest.Result[map[uuid.UUID]job.Lineage]{Value: map[uuid.UUID]job.Lineage{}}, <-read)
}

func TestLineagePagesHoldEveryJobOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.Family()
	for limit := 1; limit <= len(family)+1; limit++ {
		var seen []job.Job
		request := job.PageRequest{Limit: limit}
		for more := true; more; more = request.Cursor != "" {
			page, err := w.Service.LineagePage(t.Context(), w.Owner, family[3].ID.String(), request)
			require.NoError(t, err)
			require.Equal(t, job.LineageSummary{RootID: family[0].ID, JobCount: 5, GenerationCount: 3}, page.LineageSummary)
			seen = append(seen, page.Jobs...)
			request.Cursor = page.Next()
		}
		require.Equal(t, family, seen, fmt.Sprint("pages of ", limit))
	}
	_, err := w.Service.LineagePage(t.Context(), w.Owner, uuid.NewString(), job.PageRequest{Limit: 1})
	storetest.RequireProblem(t, job.CodeJobNotFound, err)
}

func TestReplaysOfSeveralSourcesComeInOrderOfCreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := w.Family()
	pages, err := w.Service.Replays(t.Context(), w.Owner, []uuid.UUID{family[0].ID, family[1].ID, family[2].ID}, job.PageRequest{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []job.Job{family[1]}, pages[family[0].ID].Jobs)
	require.Equal(t, []job.Job{family[3]}, pages[family[1].ID].Jobs)
	require.Empty(t, pages[family[2].ID].Jobs)

	next, err := w.Service.Replays(t.Context(), w.Owner, []uuid.UUID{family[0].ID}, job.PageRequest{Limit: 1, Cursor: pages[family[0].ID].Next()})
	require.NoError(t, err)
	require.Equal(t, []job.Job{family[2]}, next[family[0].ID].Jobs)
	require.False(t, next[family[0].ID].More)
}
