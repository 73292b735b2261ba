package postgres_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// mixed makes jobs in every status, roots and replays, oldest first. Among the replays are some of replays.
func (w *world) mixed() []job.Job {
	w.Helper()
	replayed := func(source job.Job) job.Job {
		accepted, err := w.Replay(source, uuid.NewString())
		require.NoError(w, err)
		return accepted.Job
	}
	failed := func(j job.Job) job.Job {
		require.NoError(w, w.Store.Fail(w.Context(), w.Claim(), worker.Failure{Code: job.FailureTarget}))
		return j
	}
	cancelled := func(j job.Job) job.Job {
		_, err := w.Cancel(j, "c")
		require.NoError(w, err)
		return j
	}
	w.Family()
	w.SucceededJob()
	root := w.FailedJob()
	first := failed(replayed(root))
	w.CancelledJob()
	second := cancelled(replayed(first))
	replayed(second)
	require.NoError(w, w.Store.Execute(w.Context(), w.Claim()))
	failed(replayed(w.CancelledJob()))
	replayed(w.FailedJob())
	w.Claim()
	w.RunningJob()
	replayed(root)
	w.Submit()
	return w.all()
}

// all are the owner's jobs, oldest first.
func (w *world) all() []job.Job {
	w.Helper()
	columns, _, _ := strings.Cut(strings.TrimPrefix(statements.Named("list").SQL, "SELECT "), "FROM")
	rows, err := w.Pool.Query(w.Context(),
		"SELECT "+columns+" FROM etl_job_records WHERE principal_scope_hash = $1 ORDER BY job_record_id", w.Owner[:])
	require.NoError(w, err)
	jobs, err := pgx.CollectRows(rows, postgres.ScanJob)
	require.NoError(w, err)
	return jobs
}

// unresolved tells it as job.Filter does, by looking at all jobs.
func unresolved(j job.Job, all []job.Job) bool {
	ended := func(j job.Job) bool { return j.Status == job.StatusFailed || j.Status == job.StatusCancelled }
	return ended(j) && !slices.ContainsFunc(all, func(d job.Job) bool {
		return d.Derivation != nil && d.SourceID == j.ID && !unresolved(d, all)
	})
}

// passes tells whether a job passes a filter. The other jobs are those that its descendants are among.
func passes(j job.Job, f job.Filter, all []job.Job) bool {
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, j.Status)) &&
		(f.Replay == nil || *f.Replay == (j.Derivation != nil)) &&
		(f.Unresolved == nil || *f.Unresolved == unresolved(j, all)) &&
		(f.CreatedAfter == nil || j.CreatedAt.After(*f.CreatedAfter)) &&
		(f.CreatedBefore == nil || j.CreatedAt.Before(*f.CreatedBefore))
}

// filters are all combinations of sets of statuses, the other conditions, and a span of time.
func filters(after, before time.Time) []job.Filter {
	yes, no := true, false
	var all []job.Filter
	for set := range 1 << len(job.Statuses) {
		var statuses []job.Status
		for i, status := range job.Statuses {
			if set&(1<<i) != 0 {
				statuses = append(statuses, status)
			}
		}
		for _, replay := range []*bool{nil, &yes, &no} {
			for _, unresolved := range []*bool{nil, &yes, &no} {
				all = append(all, job.Filter{Statuses: statuses, Replay: replay, Unresolved: unresolved},
					job.Filter{Statuses: statuses, Replay: replay, Unresolved: unresolved, CreatedAfter: &after, CreatedBefore: &before})
			}
		}
	}
	return all
}

// The ways to read a list, with and without parts, can't be told apart.
func TestListsAndCountsHoldExactlyWhatPassesTheFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.mixed()
	_, err := w.Service.Submit(t.Context(), job.OwnerOf("owner b"), storetest.Key(t, "k"), storetest.Batch)
	require.NoError(t, err)
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for _, f := range filters(all[2].CreatedAt, all[len(all)-3].CreatedAt) {
		want := slices.DeleteFunc(slices.Clone(newest), func(j job.Job) bool { return !passes(j, f, all) })
		require.Equal(t, storetest.IDs(want), storetest.IDs(w.pages(f, 3)), "%+v", f)

		counts, err := w.Store.CountByStatus(t.Context(), w.Owner, f)
		require.NoError(t, err)
		expected := map[job.Status]job.Count{}
		for _, j := range want {
			expected[j.Status] = job.Count{Jobs: expected[j.Status].Jobs + 1}
		}
		require.Equal(t, expected, counts, "%+v", f)
	}
}

// pages reads a list to its end.
func (w *world) pages(f job.Filter, limit int) []job.Job {
	w.Helper()
	var seen []job.Job
	page := job.Page{Limit: limit}
	for {
		jobs, err := w.Store.List(w.Context(), w.Owner, f, page)
		require.NoError(w, err)
		seen = append(seen, jobs...)
		require.Less(w, len(seen), 1000, "jobs in a list that does not end")
		if len(jobs) < limit {
			return seen
		}
		page.After.ID = jobs[limit-1].ID
	}
}

func TestStatusThatIsAskedForTwiceIsListedAndCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cancelled := w.CancelledJob()
	f := job.Filter{Statuses: []job.Status{job.StatusCancelled, job.StatusCancelled}}
	require.Equal(t, []job.Job{cancelled}, w.pages(f, 10))
	counts, err := w.Store.CountByStatus(t.Context(), w.Owner, f)
	require.NoError(t, err)
	require.Equal(t, map[job.Status]job.Count{job.StatusCancelled: {Jobs: 1}}, counts)
}

func TestJobsThatChangeTheirPartBetweenPagesAreListedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 9 {
		w.Submit()
	}
	newest := storetest.IDs(w.all())
	slices.Reverse(newest)
	f := job.Filter{Statuses: []job.Status{job.StatusPending, job.StatusCancelled}}
	var seen []uuid.UUID
	request := job.PageRequest{Limit: 2}
	for more := true; more; more = request.Cursor != "" {
		page, err := w.Service.List(t.Context(), w.Owner, f, request)
		require.NoError(t, err)
		for _, id := range []uuid.UUID{page.Jobs[0].ID, newest[8-len(seen)/2]} { // one from this page, and one from a later one
			_, err := w.Cancel(job.Job{ID: id}, "k")
			require.NoError(t, err)
		}
		seen = append(seen, storetest.IDs(page.Jobs)...)
		request.Cursor = page.Next()
	}
	require.Equal(t, newest, seen)
}

func TestCountingStopsAtItsBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	insert := func(jobs int) {
		w.MustExec(`INSERT INTO etl_job_records
				(principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count)
			SELECT $1, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), sha256($2), $2, 1 FROM generate_series(1, $3)`,
			w.Owner[:], storetest.Batch, jobs)
	}
	count := func(f job.Filter) job.Count {
		counts, err := w.Store.CountByStatus(t.Context(), w.Owner, f)
		require.NoError(t, err)
		return counts[job.StatusPending]
	}
	no := false
	insert(job.MaxCount)
	require.Equal(t, job.Count{Jobs: job.MaxCount}, count(job.Filter{}))
	insert(2)
	for _, f := range []job.Filter{{}, {Replay: &no}, {Unresolved: &no}, {CreatedAfter: &time.Time{}}} {
		require.Equal(t, job.Count{Jobs: job.MaxCount, AtLeast: true}, count(f))
	}
}
