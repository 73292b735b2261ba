package postgres_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/storetest"
)

// lockTable keeps every read waiting until the returned function is called.
func (w *world) lockTable() (unlock func()) {
	w.Helper()
	tx := w.BeginAsAdmin()
	_, err := tx.Exec(w.Context(), "LOCK TABLE etl_job_records")
	require.NoError(w, err)
	return func() { require.NoError(w, tx.Rollback(w.Context())) }
}

// readLater reads one job in the background.
func (w *world) readLater(ctx context.Context, owner job.Owner, id uuid.UUID) <-chan storetest.Result[map[uuid.UUID]job.Job] {
	return storetest.Async(func() (map[uuid.UUID]job.Job, error) { return w.Store.Jobs(ctx, owner, []uuid.UUID{id}) })
}

// waitForReads waits until so many reads wait for a statement.
func (w *world) waitForReads(n int) {
	w.Helper()
	w.waitForCalls(w.Store.WaitingReads, n)
}

func TestReadsThatComeWhileOneIsUnderWayShareStatements(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.Submit(), w.Submit()
	unlock := w.lockTable()
	alone := w.readLater(t.Context(), w.Owner, first.ID)
	w.WaitForLock()

	var known, foreign, absent []<-chan storetest.Result[map[uuid.UUID]job.Job]
	for range postgres.ManyReads - 1 {
		known = append(known, w.readLater(t.Context(), w.Owner, second.ID))
	}
	w.waitForReads(postgres.ManyReads - 1)
	w.WaitForLock() // one connection, and no further one yet
	known = append(known, w.readLater(t.Context(), w.Owner, second.ID))
	w.WaitForLocks(2)
	w.waitForReads(0)

	const rounds = batch.Most // three reads each, so that they need several statements
	for range rounds {
		known = append(known, w.readLater(t.Context(), w.Owner, second.ID))
		foreign = append(foreign, w.readLater(t.Context(), job.OwnerOf("owner b"), second.ID))
		absent = append(absent, w.readLater(t.Context(), w.Owner, uuid.Nil))
	}
	w.waitForReads(3 * rounds)
	w.WaitForLocks(2) // and no third one
	unlock()

	require.Equal(t, storetest.Result[map[uuid.UUID]job.Job]{Value: map[uuid.UUID]job.Job{first.ID: first}}, <-alone)
	for _, read := range known {
		require.Equal(t, storetest.Result[map[uuid.UUID]job.Job]{Value: map[uuid.UUID]job.Job{second.ID: second}}, <-read)
	}
	for i := range rounds {
		require.Equal(t, storetest.Result[map[uuid.UUID]job.Job]{Value: map[uuid.UUID]job.Job{}}, <-foreign[i])
		require.Equal(t, storetest.Result[map[uuid.UUID]job.Job]{Value: map[uuid.UUID]job.Job{}}, <-absent[i])
	}
}

func TestReadThatIsGivenUpDoesNotDisturbTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	unlock := w.lockTable()
	leaving, leave := context.WithCancel(t.Context())
	first := w.readLater(leaving, w.Owner, j.ID) // its statement serves the next one as well
	w.WaitForLock()
	second := w.readLater(leaving, w.Owner, j.ID)
	third := w.readLater(t.Context(), w.Owner, j.ID)
	w.waitForReads(2)
	leave()
	require.ErrorIs(t, (<-first).Err, context.Canceled)
	require.ErrorIs(t, (<-second).Err, context.Canceled)
	require.Equal(t, 1, w.Store.WaitingReads(), "reads that wait for a statement")
	unlock()
	require.Equal(t, j, (<-third).Value[j.ID])
}

func TestFailedStatementFailsEveryReadThatSharesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	renaming := w.BeginAsAdmin()
	_, err := renaming.Exec(t.Context(), "ALTER TABLE etl_job_records RENAME TO gone")
	require.NoError(t, err)
	reads := []<-chan storetest.Result[map[uuid.UUID]job.Job]{w.readLater(t.Context(), w.Owner, j.ID)}
	w.WaitForLock()
	for range 2 {
		reads = append(reads, w.readLater(t.Context(), w.Owner, j.ID))
	}
	w.waitForReads(2)
	require.NoError(t, renaming.Commit(t.Context()))
	for _, read := range reads {
		storetest.RequireSQLState(t, "42P01", (<-read).Err)
	}
}

func TestEveryWayToReadAJobIsScopedToItsOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Submit()
	for name, read := range map[string]func(context.Context, job.Owner) (map[uuid.UUID]job.Job, error){
		"alone": func(ctx context.Context, o job.Owner) (map[uuid.UUID]job.Job, error) {
			return w.Store.Jobs(ctx, o, []uuid.UUID{j.ID})
		},
		"with others": func(ctx context.Context, o job.Owner) (map[uuid.UUID]job.Job, error) {
			return w.Store.Jobs(ctx, o, []uuid.UUID{j.ID, uuid.Max})
		},
	} {
		own, err := read(t.Context(), w.Owner)
		require.NoError(t, err, name)
		require.Equal(t, map[uuid.UUID]job.Job{j.ID: j}, own, name)
		foreign, err := read(t.Context(), job.OwnerOf("owner b"))
		require.NoError(t, err, name)
		require.Empty(t, foreign, name)
	}
}
