package postgres

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/worker"
)

func TestOutageIsUnavailableAndRecoversByItself(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	require.NoError(t, MigrateUp(t.Context(), server.URL()))
	pool, err := Open(t.Context(), server.URL(), 4)
	require.NoError(t, err)
	defer pool.Close()
	store := NewStore(pool, Config{LockTimeout: time.Second, CallTimeout: 5 * time.Second})
	defer store.Close()
	c := &counter{ended: map[job.Status]int{}, created: map[int]int{}, replayed: map[job.Operation]int{}}
	service := job.NewService(store, job.Limits{MaxPayloadBytes: 100, MaxBatchRecords: 10}, c)
	owner := job.OwnerOf("owner")
	accepted, err := service.Submit(t.Context(), owner, key(t, "k"), []byte(`[]`))
	require.NoError(t, err)
	id := accepted.Job.ID.String()

	server.Crash(t)
	calls := map[string]func() error{
		"submit": func() error { _, err := service.Submit(t.Context(), owner, key(t, "k2"), []byte(`[]`)); return err },
		"cancel": func() error { _, err := service.Cancel(t.Context(), owner, id, key(t, "k")); return err },
		"replay": func() error { _, err := service.Replay(t.Context(), owner, id, key(t, "k"), []byte(`[]`)); return err },
		"get":    func() error { _, err := service.Get(t.Context(), owner, id); return err },
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
		require.Equal(t, job.CodeDatabaseUnavailable, requireProblem(t, job.CodeDatabaseUnavailable, call()).Code, name)
	}
	require.ErrorIs(t, CheckSchema(t.Context(), pool), job.ErrUnavailable)
	_, err = store.Claim(t.Context(), worker.ClaimRequest{Limit: 1, MaxAttempts: 1})
	require.ErrorIs(t, err, job.ErrUnavailable)
	requireLoadError(t, job.FailureTargetUnavailable, true, store.Execute(t.Context(), worker.Lease{}))
	store.listenOnce(t.Context(), func(worker.Notice) { t.Error("listened to a stopped server") })

	server.Start(t)
	require.NoError(t, CheckSchema(t.Context(), pool))
	j, err := service.Get(t.Context(), owner, id)
	require.NoError(t, err)
	require.Equal(t, job.StatusPending, j.Status, "an acknowledged job survives a crash")
	require.NoError(t, calls["submit"]())
}

func TestPoolExhaustedPastTheDeadlineIsUnavailable(t *testing.T) {
	t.Parallel()
	pool, err := Open(t.Context(), pgtest.URL(t), 1)
	require.NoError(t, err)
	defer pool.Close()
	store := NewStore(pool, Config{LockTimeout: time.Second, CallTimeout: 20 * time.Millisecond})
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
	_, err := w.service.Get(ctx, w.owner, uuid.NewString())
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, job.ErrUnavailable)
}

func TestUnknownDatabaseErrorIsNoProblem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustExec("DROP TABLE etl_job_records CASCADE")
	_, err := w.service.Get(t.Context(), w.owner, uuid.NewString())
	var problem *job.Problem
	require.NotErrorAs(t, err, &problem)
	requireSQLState(t, "42P01", err)
}

func TestLostAnswersAreRecognisedByTheNewID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	spy := &keySpy{}
	spied := job.NewService(spy, w.service.Limits(), w.counter)

	_, err := spied.Submit(t.Context(), w.owner, key(t, "k"), batch)
	require.ErrorIs(t, err, errSpied)
	for range 2 { // the second try of a call whose first one was committed
		_, inserted, sameBytes, err := w.store.Submit(t.Context(), spy.newJob)
		require.NoError(t, err)
		require.True(t, inserted && sameBytes)
	}

	_, err = spied.Replay(t.Context(), w.owner, source.ID.String(), key(t, "k"), batch)
	require.ErrorIs(t, err, errSpied)
	for range 2 {
		result, err := w.store.Replay(t.Context(), source.ID, spy.newJob)
		require.NoError(t, err)
		require.Equal(t, spy.newJob.ID, result.Created.ID)
	}
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err         error
		want        error
		retry       bool
		description string
	}{
		{&pgconn.PgError{Code: "40001"}, job.ErrUnavailable, true, "serialization failure"},
		{&pgconn.PgError{Code: "40P01"}, job.ErrUnavailable, true, "deadlock"},
		{&pgconn.PgError{Code: "55P03"}, job.ErrBusy, false, "lock timeout"},
		{&pgconn.PgError{Code: "25006"}, job.ErrUnavailable, true, "read-only standby"},
		{&pgconn.PgError{Code: "53300"}, job.ErrUnavailable, true, "too many connections"},
		{&pgconn.PgError{Code: "57P03"}, job.ErrUnavailable, true, "starting up"},
		{io.ErrUnexpectedEOF, job.ErrUnavailable, true, "connection cut"},
		{context.DeadlineExceeded, job.ErrUnavailable, true, "call timeout"},
		{job.ErrNotFound, job.ErrNotFound, false, "absent"},
	} {
		wrapped := fmt.Errorf("wrapped: %w", c.err)
		require.ErrorIs(t, classify(t.Context(), "verb", wrapped), c.want, c.description)
		require.Equal(t, c.retry, retryable(wrapped), c.description)
	}
	plain := classify(t.Context(), "verb", &pgconn.PgError{Code: "22023"})
	require.NotErrorIs(t, plain, job.ErrUnavailable)
	require.NotErrorIs(t, plain, job.ErrBusy)
	require.NoError(t, classify(t.Context(), "verb", nil))
}

func TestDeadlockIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tries := 0
	err := w.store.call(t.Context(), "verb", func(context.Context) error {
		tries++
		if tries == 1 {
			return &pgconn.PgError{Code: codeDeadlockDetected}
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, tries)
}
