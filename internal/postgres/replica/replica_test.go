package replica

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
)

// replicated is a world whose lists and lineages may be read on a real standby.
type replicated struct {
	*world
	server, standby *pgtest.Instance
	replica         *pgxpool.Pool
	reads           *ReplicatedStore

	mu       sync.Mutex
	outcomes []string
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	server := pgtest.Server(t)
	standby := server.Replica(t)
	r := &replicated{world: newWorldOn(t, server.URL()), server: server, standby: standby}
	replica, err := Open(t.Context(), standby.URL(), 4)
	require.NoError(t, err)
	t.Cleanup(replica.Close)
	r.replica = replica
	r.reads = NewReplicatedStore(r.store, replica, func(o string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.outcomes = append(r.outcomes, o)
	})
	r.service = job.NewService(r.reads, r.service.Limits(), r.counter)
	return r
}

// last is how the latest read went.
func (r *replicated) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcomes[len(r.outcomes)-1]
}

// requireServed repeats a read until the replica serves it; a busy machine can be late.
func (r *replicated) requireServed(read func()) {
	r.Helper()
	require.Eventually(r, func() bool {
		read()
		return r.last() == ReplicaServed
	}, patience, 10*time.Millisecond)
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
	}, patience, 10*time.Millisecond)
}

func (r *replicated) resume() {
	r.Helper()
	_, err := pgtest.SuperuserPool(r, r.standby.URL()).Exec(r.Context(), "SELECT pg_wal_replay_resume()")
	require.NoError(r, err)
}

func TestReplicaAnswersAsThePrimaryDoes(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	family := r.family()
	first, page := family[0], job.Page{Limit: 3}
	for name, read := range map[string]func(s job.Store) (any, error){
		"list":   func(s job.Store) (any, error) { return s.List(t.Context(), r.owner, job.Filter{}, page) },
		"counts": func(s job.Store) (any, error) { return s.CountByStatus(t.Context(), r.owner, job.Filter{}) },
		"replays": func(s job.Store) (any, error) {
			return s.Replays(t.Context(), r.owner, []uuid.UUID{first.ID}, page)
		},
		"lineages":  func(s job.Store) (any, error) { return s.Lineages(t.Context(), r.owner, ids(family), 100) },
		"truncated": func(s job.Store) (any, error) { return s.Lineages(t.Context(), r.owner, ids(family), 2) },
		"lineage page": func(s job.Store) (any, error) {
			return lineagePage(s.LineagePage(t.Context(), r.owner, first.ID, page))
		},
		"lineage of none": func(s job.Store) (any, error) {
			return lineagePage(s.LineagePage(t.Context(), r.owner, uuid.New(), page))
		},
		"list of a nobody": func(s job.Store) (any, error) { return s.List(t.Context(), job.OwnerOf("b"), job.Filter{}, page) },
	} {
		want, wantErr := read(r.store)
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
	other := newWorldOn(t, r.url)
	served := 0
	for range 100 {
		j := other.submit()
		require.Equal(t, j.ID, r.list(job.Filter{})[0])
		if r.last() == ReplicaServed {
			served++
		}
	}
	require.Positive(t, served)
}

func TestLaggingReplicaIsLeftAloneUntilItHasCaughtUp(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	family := r.family()
	var page job.LineagePage
	read := func(cursor string) {
		t.Helper()
		var err error
		page, err = r.service.LineagePage(t.Context(), r.owner, family[0].ID.String(), job.PageRequest{Limit: 2, Cursor: cursor})
		require.NoError(t, err)
	}
	r.requireServed(func() { read("") })
	require.Equal(t, family[:2], page.Jobs)

	r.pause()
	_, err := r.replay(family[1], "later")
	require.NoError(t, err)
	read(page.Next())
	require.Equal(t, ReplicaLate, r.last())
	require.Equal(t, family[2:4], page.Jobs, "a cursor from the replica goes on at the primary")
	require.Equal(t, 6, page.JobCount, "the total has the write that was just made")
	read("")
	require.Equal(t, ReplicaResting, r.last(), "who comes next does not wait")

	r.resume()
	r.requireServed(func() { read("") })
	read(page.Next())
	require.Equal(t, family[2:4], page.Jobs)
	require.Equal(t, 6, page.JobCount)
}

func TestDeadReplicaIsReplacedByThePrimaryUntilItIsBack(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	j := r.submit()
	list := func() { require.Equal(t, []uuid.UUID{j.ID}, r.list(job.Filter{})) }
	r.requireServed(list)

	r.standby.Crash(t)
	list()
	require.Equal(t, ReplicaFailed, r.last())
	list()
	require.Equal(t, ReplicaResting, r.last())

	r.standby.Start(t)
	r.requireServed(list)

	r.server.Crash(t)
	_, err := r.reads.List(t.Context(), r.owner, job.Filter{}, job.Page{Limit: 1})
	require.ErrorIs(t, err, job.ErrUnavailable, "only the primary can say what it has acknowledged")
}

func TestServerThatIsNoReplicaIsNeverRead(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	j := w.submit()
	nowhere, err := Open(t.Context(), "postgres://127.0.0.1:1/none", 2)
	require.NoError(t, err)
	defer nowhere.Close()
	for replica, want := range map[*pgxpool.Pool]string{other.pool: ReplicaLate, nowhere: ReplicaFailed} {
		var outcome string
		reads := NewReplicatedStore(w.store, replica, func(o string) { outcome = o })
		jobs, err := reads.List(t.Context(), w.owner, job.Filter{}, job.Page{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{j.ID}, ids(jobs))
		require.Equal(t, want, outcome)
	}
}

func TestReadThatFailsOnTheReplicaIsMadeOnThePrimaryUnlessTheCallerGaveUp(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	answer, err := current(t.Context(), r.reads, func(s *Store) (string, error) {
		if s != r.store {
			return "", errSpied
		}
		return "of the primary", nil
	})
	require.NoError(t, err)
	require.Equal(t, "of the primary", answer)
	require.Equal(t, ReplicaFailed, r.last())

	r.requireServed(func() { r.list(job.Filter{}) })
	ctx, cancel := context.WithCancel(t.Context())
	_, err = current(ctx, r.reads, func(s *Store) ([]job.Job, error) {
		require.NotSame(t, r.store, s, "the primary is not asked in vain")
		cancel()
		return s.List(ctx, r.owner, job.Filter{}, job.Page{Limit: 1})
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, ReplicaServed, r.last(), "it says nothing about the replica")
}

func TestOneReadTriesAReplicaThatRests(t *testing.T) {
	t.Parallel()
	r := NewReplicatedStore(nil, nil, func(string) {})
	now := time.Now()
	require.True(t, r.admits(now), "it begins without a rest")
	r.note(ReplicaLate)
	require.False(t, r.admits(now))
	over := time.Now().Add(replicaRest)
	require.True(t, r.admits(over))
	require.False(t, r.admits(over), "the others wait for how that one fares")
	r.note(ReplicaServed)
	require.True(t, r.admits(now))
	require.True(t, r.admits(now))
}
