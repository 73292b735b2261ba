package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/schema"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

func TestOutageIsUnavailableAndRecoversByItself(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	require.NoError(t, schema.Up(t.Context(), server.URL()))
	pool, err := db.Open(t.Context(), server.URL(), 4)
	require.NoError(t, err)
	defer pool.Close()
	store := postgres.NewStore(pool, postgres.Config{LockTimeout: time.Second, CallTimeout: 5 * time.Second})
	defer store.Close()
	c := &storetest.Counter{Ended: map[job.Status]int{}, Created: map[int]int{}, Replayed: map[job.Operation]int{}}
	service := job.NewService(store, job.Limits{MaxPayloadBytes: 100, MaxBatchRecords: 10}, c)
	owner := job.OwnerOf("owner")
	accepted, err := service.Submit(t.Context(), owner, storetest.Key(t, "k"), []byte(`[]`))
	require.NoError(t, err)
	id := accepted.Job.ID.String()

	server.Crash(t)
	calls := map[string]func() error{
		"submit": func() error {
			_, err := service.Submit(t.Context(), owner, storetest.Key(t, "k2"), []byte(`[]`))
			return err
		},
		"cancel": func() error { _, err := service.Cancel(t.Context(), owner, id, storetest.Key(t, "k"), ""); return err },
		"replay": func() error {
			_, err := service.Replay(t.Context(), owner, id, storetest.Key(t, "k"), []byte(`[]`))
			return err
		},
		"get": func() error { _, err := service.Get(t.Context(), owner, id); return err },
		"list": func() error {
			_, err := service.List(t.Context(), owner, job.Filter{}, job.PageRequest{Limit: 1})
			return err
		},
		"lineage": func() error { _, err := service.Lineage(t.Context(), owner, id); return err },
		"lineage page": func() error {
			_, err := service.LineagePage(t.Context(), owner, id, job.PageRequest{Limit: 1})
			return err
		},
	}
	for name, call := range calls {
		require.Equal(t, job.CodeDatabaseUnavailable, storetest.RequireProblem(t, job.CodeDatabaseUnavailable, call()).Code, name)
	}
	require.ErrorIs(t, schema.Check(t.Context(), pool), job.ErrUnavailable)
	_, err = store.Claim(t.Context(), worker.ClaimRequest{Limit: 1, MaxAttempts: 1})
	require.ErrorIs(t, err, job.ErrUnavailable)
	storetest.RequireLoadError(t, job.FailureTargetUnavailable, true, store.Execute(t.Context(), worker.Lease{}))

	server.Start(t)
	require.NoError(t, schema.Check(t.Context(), pool))
	j, err := service.Get(t.Context(), owner, id)
	require.NoError(t, err)
	require.Equal(t, job.StatusPending, j.Status, "an acknowledged job survives a crash")
	require.NoError(t, calls["submit"]())
}

func TestPoolExhaustedPastTheDeadlineIsUnavailable(t *testing.T) {
	t.Parallel()
	pool, err := db.Open(t.Context(), pgtest.URL(t), 1)
	require.NoError(t, err)
	defer pool.Close()
	store := postgres.NewStore(pool, postgres.Config{LockTimeout: time.Second, CallTimeout: 20 * time.Millisecond})
	defer store.Close()
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = store.Jobs(t.Context(), job.Owner{}, []uuid.UUID{uuid.New()})
	require.ErrorIs(t, err, job.ErrUnavailable)
}

func TestCallersOwnCancellationStaysWhatItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Service.Get(ctx, w.Owner, uuid.NewString())
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, job.ErrUnavailable)
}

func TestUnknownDatabaseErrorIsNoProblem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.MustExec("DROP TABLE etl_job_records CASCADE")
	_, err := w.Service.Get(t.Context(), w.Owner, uuid.NewString())
	var problem *job.Problem
	require.NotErrorAs(t, err, &problem)
	storetest.RequireSQLState(t, "42P01", err)
}

func TestLostAnswersAreRecognisedByTheNewID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	submission, replay := w.NewJob("k", storetest.Batch), w.NewReplay(source, "k")
	for range 2 { // the second try of a call whose first one was committed
		_, inserted, sameBytes, err := w.Store.Submit(t.Context(), submission)
		require.NoError(t, err)
		require.True(t, inserted && sameBytes)

		result, err := w.Store.Replay(t.Context(), source.ID, replay)
		require.NoError(t, err)
		require.Equal(t, replay.ID, result.Created.ID)
	}
}
