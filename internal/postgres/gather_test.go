package postgres

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// lockTable keeps every read waiting until the returned function is called.
func (w *world) lockTable() (unlock func()) {
	w.Helper()
	tx := w.beginAsAdmin()
	_, err := tx.Exec(w.Context(), "LOCK TABLE etl_job_records")
	require.NoError(w, err)
	return func() { require.NoError(w, tx.Rollback(w.Context())) }
}

// readLater reads one job in the background.
func (w *world) readLater(ctx context.Context, owner job.Owner, id uuid.UUID) <-chan result[map[uuid.UUID]job.Job] {
	return async(func() (map[uuid.UUID]job.Job, error) { return w.store.Jobs(ctx, owner, []uuid.UUID{id}) })
}

// waitForReads waits until so many reads wait for a statement.
func (w *world) waitForReads(n int) {
	w.Helper()
	w.waitForCalls(w.store.reads.count, n)
}

func TestReadsThatComeWhileOneIsUnderWayShareStatements(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.submit(), w.submit()
	unlock := w.lockTable()
	alone := w.readLater(t.Context(), w.owner, first.ID)
	w.waitForLock()

	var known, foreign, absent []<-chan result[map[uuid.UUID]job.Job]
	for range manyReads - 1 {
		known = append(known, w.readLater(t.Context(), w.owner, second.ID))
	}
	w.waitForReads(manyReads - 1)
	w.waitForLock() // one connection, and no further one yet
	known = append(known, w.readLater(t.Context(), w.owner, second.ID))
	w.waitForLocks(2)
	w.waitForReads(0)

	const rounds = gatheredAtOnce // three reads each, so that they need several statements
	for range rounds {
		known = append(known, w.readLater(t.Context(), w.owner, second.ID))
		foreign = append(foreign, w.readLater(t.Context(), job.OwnerOf("owner b"), second.ID))
		absent = append(absent, w.readLater(t.Context(), w.owner, uuid.Nil))
	}
	w.waitForReads(3 * rounds)
	w.waitForLocks(2) // and no third one
	unlock()

	require.Equal(t, result[map[uuid.UUID]job.Job]{value: map[uuid.UUID]job.Job{first.ID: first}}, <-alone)
	for _, read := range known {
		require.Equal(t, result[map[uuid.UUID]job.Job]{value: map[uuid.UUID]job.Job{second.ID: second}}, <-read)
	}
	for i := range rounds {
		require.Equal(t, result[map[uuid.UUID]job.Job]{value: map[uuid.UUID]job.Job{}}, <-foreign[i])
		require.Equal(t, result[map[uuid.UUID]job.Job]{value: map[uuid.UUID]job.Job{}}, <-absent[i])
	}
}

func TestReadThatIsGivenUpDoesNotDisturbTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	unlock := w.lockTable()
	leaving, leave := context.WithCancel(t.Context())
	first := w.readLater(leaving, w.owner, j.ID) // its statement serves the next one as well
	w.waitForLock()
	second := w.readLater(leaving, w.owner, j.ID)
	third := w.readLater(t.Context(), w.owner, j.ID)
	w.waitForReads(2)
	leave()
	require.ErrorIs(t, (<-first).err, context.Canceled)
	require.ErrorIs(t, (<-second).err, context.Canceled)
	require.Equal(t, 1, w.store.reads.count(), "reads that wait for a statement")
	unlock()
	require.Equal(t, j, (<-third).value[j.ID])
}

func TestCallThatIsDoneIsNotKeptInMemory(t *testing.T) {
	t.Parallel()
	g := &gatherer[*[1 << 10]byte, job.Job]{send: func(context.Context, []*[1 << 10]byte) ([]placed[job.Job], error) { return nil, nil }}
	payload := new([1 << 10]byte)
	kept := weak.Make(payload)
	_, err := g.do(t.Context(), payload)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		runtime.GC()
		return kept.Value() == nil
	}, patience, time.Millisecond)
	runtime.KeepAlive(g)
}

func TestFailedStatementFailsEveryReadThatSharesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	renaming := w.beginAsAdmin()
	_, err := renaming.Exec(t.Context(), "ALTER TABLE etl_job_records RENAME TO gone")
	require.NoError(t, err)
	reads := []<-chan result[map[uuid.UUID]job.Job]{w.readLater(t.Context(), w.owner, j.ID)}
	w.waitForLock()
	for range 2 {
		reads = append(reads, w.readLater(t.Context(), w.owner, j.ID))
	}
	w.waitForReads(2)
	require.NoError(t, renaming.Commit(t.Context()))
	for _, read := range reads {
		requireSQLState(t, "42P01", (<-read).err)
	}
}

func TestEveryWayToReadAJobIsScopedToItsOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.submit()
	for name, read := range map[string]func(context.Context, job.Owner) (map[uuid.UUID]job.Job, error){
		"alone": func(ctx context.Context, o job.Owner) (map[uuid.UUID]job.Job, error) {
			return w.store.Jobs(ctx, o, []uuid.UUID{j.ID})
		},
		"with others": func(ctx context.Context, o job.Owner) (map[uuid.UUID]job.Job, error) {
			return w.store.Jobs(ctx, o, []uuid.UUID{j.ID, uuid.Max})
		},
	} {
		check := func(ctx context.Context) {
			own, err := read(ctx, w.owner)
			require.NoError(t, err, name)
			require.Equal(t, map[uuid.UUID]job.Job{j.ID: j}, own, name)
			foreign, err := read(ctx, job.OwnerOf("owner b"))
			require.NoError(t, err, name)
			require.Empty(t, foreign, name)
		}
		check(t.Context())
		traced(t, check) // a traced read has a statement of its own
	}
}
