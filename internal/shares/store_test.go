package shares_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// reads are all reads of many rows.
var reads = map[string]func(ctx context.Context, s job.Store, owner job.Owner, id uuid.UUID) error{
	"List": func(ctx context.Context, s job.Store, owner job.Owner, _ uuid.UUID) error {
		_, err := s.List(ctx, owner, job.Filter{}, job.Page{Limit: 1})
		return err
	},
	"CountByStatus": func(ctx context.Context, s job.Store, owner job.Owner, _ uuid.UUID) error {
		_, err := s.CountByStatus(ctx, owner, job.Filter{})
		return err
	},
	"Jobs": func(ctx context.Context, s job.Store, owner job.Owner, id uuid.UUID) error {
		_, err := s.Jobs(ctx, owner, []uuid.UUID{id, uuid.Max})
		return err
	},
	"Attempts": func(ctx context.Context, s job.Store, owner job.Owner, id uuid.UUID) error {
		_, err := s.Attempts(ctx, owner, []uuid.UUID{id}, job.AttemptsAfter{Limit: 1})
		return err
	},
	"Replays": func(ctx context.Context, s job.Store, owner job.Owner, id uuid.UUID) error {
		_, err := s.Replays(ctx, owner, []uuid.UUID{id}, job.Page{Limit: 1})
		return err
	},
	"Lineages": func(ctx context.Context, s job.Store, owner job.Owner, id uuid.UUID) error {
		_, err := s.Lineages(ctx, owner, []uuid.UUID{id}, 1)
		return err
	},
	"LineagePage": func(ctx context.Context, s job.Store, owner job.Owner, id uuid.UUID) error {
		_, _, err := s.LineagePage(ctx, owner, id, job.Page{Limit: 1})
		return err
	},
}

func TestReadsOfManyRowsLeaveMostConnectionsToEverythingElse(t *testing.T) {
	t.Parallel()
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := storetest.New(t)
			store := shares.Of(w.Store, 5, storetest.Patience) // two places, one for each owner
			j, other := w.Submit(), job.OwnerOf("owner b")
			holder := w.BeginAsAdmin()
			_, err := holder.Exec(t.Context(), "LOCK TABLE etl_job_records, etl_job_attempts")
			require.NoError(t, err)
			results := []<-chan storetest.Result[struct{}]{}
			ask := func(owner job.Owner) {
				results = append(results, storetest.Async(func() (struct{}, error) { return struct{}{}, read(t.Context(), store, owner, j.ID) }))
			}
			ask(w.Owner)
			w.WaitForLocks(1)
			ask(w.Owner)
			ask(w.Owner)
			pgtest.Eventually(t, "two calls to wait for their turn", func() bool { return store.Waiting() == 2 })
			ask(other)
			w.WaitForLocks(2)
			ask(job.OwnerOf("owner c"))
			pgtest.Eventually(t, "three calls to wait for their turn", func() bool { return store.Waiting() == 3 })
			require.NoError(t, holder.Rollback(t.Context()))
			for i, result := range results {
				err := (<-result).Err
				require.True(t, err == nil || i >= 3 && errors.Is(err, job.ErrNotFound), "%d: %v", i, err) // the others have no such job
			}
			require.NoError(t, read(t.Context(), store, w.Owner, j.ID), "the places were given back")
		})
	}
}

func TestSingleJobAndWritesNeedNoPlace(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	store := shares.Of(w.Store, 1, time.Hour)
	j := w.Submit()
	holder := w.BeginAsAdmin()
	_, err := holder.Exec(t.Context(), "LOCK TABLE etl_job_attempts")
	require.NoError(t, err)
	waiting := storetest.Async(func() (struct{}, error) { return struct{}{}, reads["Attempts"](t.Context(), store, w.Owner, j.ID) })
	w.WaitForLock() // the only place is taken
	jobs, err := store.Jobs(t.Context(), w.Owner, []uuid.UUID{j.ID})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	cancelled, err := store.Cancel(t.Context(), w.Owner, j.ID, job.Hash{1}, job.CancellationByOwner)
	require.NoError(t, err)
	require.True(t, cancelled.Transitioned, "while its owner's dashboard has taken all that it may")
	require.NoError(t, holder.Rollback(t.Context()))
	require.NoError(t, (<-waiting).Err)
}

func TestReadThatWaitsTooLongForItsTurnIsUnavailable(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	store := shares.Of(w.Store, 1, time.Millisecond)
	holder := w.BeginAsAdmin()
	_, err := holder.Exec(t.Context(), "LOCK TABLE etl_job_records")
	require.NoError(t, err)
	waiting := storetest.Async(func() (struct{}, error) { return struct{}{}, reads["List"](t.Context(), store, w.Owner, uuid.Nil) })
	w.WaitForLock()
	ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	defer cancel()
	require.ErrorIs(t, reads["List"](ctx, store, w.Owner, uuid.Nil), job.ErrUnavailable)
	require.NoError(t, holder.Rollback(t.Context()))
	require.NoError(t, (<-waiting).Err)
}
