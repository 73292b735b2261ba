package replica_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/replica"
	"fencepost/internal/postgres/storetest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// replicated is a world whose lists and lineages may be read on a real standby.
type replicated struct {
	*storetest.World
	server, standby *pgtest.Instance
	replica         *pgxpool.Pool
	reads           *replica.Store

	mu       sync.Mutex
	outcomes []string
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	server := pgtest.Server(t)
	standby := server.Replica(t)
	r := &replicated{World: storetest.On(t, server.URL()), server: server, standby: standby}
	r.replica = storetest.Open(t, standby.URL())
	r.reads = replica.New(r.Store, r.replica, func(o string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.outcomes = append(r.outcomes, o)
	})
	r.reads.SetPatience(storetest.Patience)
	r.Service = job.NewService(r.reads, r.Service.Limits(), r.Counter)
	return r
}

// last is how the latest read went.
func (r *replicated) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcomes[len(r.outcomes)-1]
}

// requireServed checks that the replica serves a read, rested or not.
func (r *replicated) requireServed(read func()) {
	r.Helper()
	r.reads.EndRest()
	read()
	require.Equal(r, replica.Served, r.last())
}

// pause stops the replay of the log on the standby, which goes on to answer.
func (r *replicated) pause() {
	r.Helper()
	_, err := pgtest.SuperuserPool(r, r.standby.URL()).Exec(r.Context(), "SELECT pg_wal_replay_pause()")
	require.NoError(r, err)
	require.Eventually(r, func() bool {
		var state string
		err := r.replica.QueryRow(r.Context(), "SELECT pg_get_wal_replay_pause_state()").Scan(&state)
		return err == nil && state == "paused"
	}, storetest.Patience, 10*time.Millisecond)
}

func (r *replicated) resume() {
	r.Helper()
	_, err := pgtest.SuperuserPool(r, r.standby.URL()).Exec(r.Context(), "SELECT pg_wal_replay_resume()")
	require.NoError(r, err)
}

func TestReplicaAnswersAsThePrimaryDoes(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	family := r.Family()
	first, page := family[0], job.Page{Limit: 3}
	for name, read := range map[string]func(s job.Store) (any, error){
		"list":   func(s job.Store) (any, error) { return s.List(t.Context(), r.Owner, job.Filter{}, page) },
		"counts": func(s job.Store) (any, error) { return s.CountByStatus(t.Context(), r.Owner, job.Filter{}) },
		"replays": func(s job.Store) (any, error) {
			return s.Replays(t.Context(), r.Owner, []uuid.UUID{first.ID}, page)
		},
		"lineages":  func(s job.Store) (any, error) { return s.Lineages(t.Context(), r.Owner, storetest.IDs(family), 100) },
		"truncated": func(s job.Store) (any, error) { return s.Lineages(t.Context(), r.Owner, storetest.IDs(family), 2) },
		"lineage page": func(s job.Store) (any, error) {
			return lineagePage(s.LineagePage(t.Context(), r.Owner, first.ID, page))
		},
		"lineage of none": func(s job.Store) (any, error) {
			return lineagePage(s.LineagePage(t.Context(), r.Owner, uuid.New(), page))
		},
		"list of a nobody": func(s job.Store) (any, error) { return s.List(t.Context(), job.OwnerOf("b"), job.Filter{}, page) },
	} {
		want, wantErr := read(r.Store)
		r.requireServed(func() {
			got, err := read(r.reads)
			require.Equal(t, wantErr, err, name)
			require.Equal(t, want, got, name)
		})
	}
}

// lineagePage makes one value of a total and its jobs.
func lineagePage(summary job.LineageSummary, jobs []job.Job, err error) (any, error) {
	return []any{summary, jobs}, err
}

func TestReadOnReplicaSeesEveryAcknowledgedWriteOfAnyProcess(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	other := storetest.On(t, r.URL)
	for range 100 {
		j := other.Submit()
		require.Equal(t, j.ID, r.List(job.Filter{})[0])
		require.Equal(t, replica.Served, r.last())
	}
}

func TestLaggingReplicaIsLeftAloneUntilItHasCaughtUp(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	family := r.Family()
	var page job.LineagePage
	read := func(cursor string) {
		t.Helper()
		var err error
		page, err = r.Service.LineagePage(t.Context(), r.Owner, family[0].ID.String(), job.PageRequest{Limit: 2, Cursor: cursor})
		require.NoError(t, err)
	}
	r.requireServed(func() { read("") })
	require.Equal(t, family[:2], page.Jobs)

	r.pause()
	_, err := r.Replay(family[1], "later")
	require.NoError(t, err)
	r.reads.SetPatience(time.Millisecond) // which is as good as any: it can't catch up
	read(page.Next())
	require.Equal(t, replica.Late, r.last())
	require.Equal(t, family[2:4], page.Jobs, "a cursor from the replica goes on at the primary")
	require.Equal(t, 6, page.JobCount, "the total has the write that was just made")
	read("")
	require.Equal(t, replica.Resting, r.last(), "who comes next does not wait")

	r.resume()
	r.reads.SetPatience(storetest.Patience)
	r.requireServed(func() { read("") })
	read(page.Next())
	require.Equal(t, family[2:4], page.Jobs)
	require.Equal(t, 6, page.JobCount)
}

func TestDeadReplicaIsReplacedByThePrimaryUntilItIsBack(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	j := r.Submit()
	list := func() { require.Equal(t, []uuid.UUID{j.ID}, r.List(job.Filter{})) }
	r.requireServed(list)

	r.standby.Crash(t)
	list()
	require.Equal(t, replica.Failed, r.last())
	list()
	require.Equal(t, replica.Resting, r.last())

	r.standby.Start(t)
	pgtest.Eventually(t, "the standby to serve", func() bool { // it answers before it takes part in the replication again
		r.reads.EndRest()
		list()
		return r.last() == replica.Served
	})

	r.server.Crash(t)
	_, err := r.reads.List(t.Context(), r.Owner, job.Filter{}, job.Page{Limit: 1})
	require.ErrorIs(t, err, job.ErrUnavailable, "only the primary can say what it has acknowledged")
}

func TestServerThatIsNoReplicaIsNeverRead(t *testing.T) {
	t.Parallel()
	w, other := storetest.New(t), storetest.New(t)
	j := w.Submit()
	nowhere := storetest.Open(t, "postgres://127.0.0.1:1/none")
	for _, c := range []struct {
		pool     *pgxpool.Pool
		patience time.Duration
		want     string
	}{
		{other.Pool, time.Millisecond, replica.Late}, // it would be asked for ever
		{nowhere, storetest.Patience, replica.Failed},
	} {
		var outcome string
		reads := replica.New(w.Store, c.pool, func(o string) { outcome = o })
		reads.SetPatience(c.patience)
		jobs, err := reads.List(t.Context(), w.Owner, job.Filter{}, job.Page{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{j.ID}, storetest.IDs(jobs))
		require.Equal(t, c.want, outcome)
	}
}

func TestReadThatFailsOnTheReplicaIsMadeOnThePrimaryUnlessTheCallerGaveUp(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	failure := errors.New("of the replica")
	answer, err := replica.Current(t.Context(), r.reads, func(reader postgres.Reader) (string, error) {
		if !assert.ObjectsAreEqual(r.Store.Reader, reader) {
			return "", failure
		}
		return "of the primary", nil
	})
	require.NoError(t, err)
	require.Equal(t, "of the primary", answer)
	require.Equal(t, replica.Failed, r.last())

	r.requireServed(func() { r.List(job.Filter{}) })
	ctx, cancel := context.WithCancel(t.Context())
	_, err = replica.Current(ctx, r.reads, func(reader postgres.Reader) ([]job.Job, error) {
		require.NotEqual(t, r.Store.Reader, reader, "the primary is not asked in vain")
		cancel()
		return reader.List(ctx, r.Owner, job.Filter{}, job.Page{Limit: 1})
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, replica.Served, r.last(), "it says nothing about the replica")
}

func TestOneReadTriesAReplicaThatRests(t *testing.T) {
	t.Parallel()
	r := replica.New(nil, nil, func(string) {})
	now := time.Now()
	require.True(t, r.Admits(now), "it begins without a rest")
	r.Note(replica.Late)
	require.False(t, r.Admits(now))
	over := time.Now().Add(r.Rest())
	require.True(t, r.Admits(over))
	require.False(t, r.Admits(over), "the others wait for how that one fares")
	r.Note(replica.Served)
	require.True(t, r.Admits(now))
	require.True(t, r.Admits(now))
}
