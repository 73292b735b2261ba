package db_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/storetest"
)

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
		{&pgconn.PgError{Code: "25P03"}, job.ErrUnavailable, true, "idle in transaction for too long"},
		{&pgconn.PgError{Code: "25P04"}, job.ErrUnavailable, true, "transaction timeout"},
		{&pgconn.PgError{Code: "53300"}, job.ErrUnavailable, true, "too many connections"},
		{&pgconn.PgError{Code: "57P03"}, job.ErrUnavailable, true, "starting up"},
		{io.ErrUnexpectedEOF, job.ErrUnavailable, true, "connection cut"},
		{context.DeadlineExceeded, job.ErrUnavailable, true, "call timeout"},
		{job.ErrNotFound, job.ErrNotFound, false, "absent"},
	} {
		wrapped := fmt.Errorf("wrapped: %w", c.err)
		require.ErrorIs(t, db.Classify(t.Context(), "verb", wrapped), c.want, c.description)
		require.Equal(t, c.retry, db.Retryable(wrapped), c.description)
	}
	plain := db.Classify(t.Context(), "verb", &pgconn.PgError{Code: "22023"})
	require.NotErrorIs(t, plain, job.ErrUnavailable)
	require.NotErrorIs(t, plain, job.ErrBusy)
	require.NoError(t, db.Classify(t.Context(), "verb", nil))
}

func TestCallersOwnEndStaysWhatItIs(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := db.Classify(ctx, "verb", io.EOF)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, job.ErrUnavailable)
}

func TestWhatPassesByItselfIsTransient(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"40001", "40P01", "55P03", "57014", "25006", "53100", "08006"} {
		require.True(t, db.Transient(code), code)
	}
	for _, code := range []string{"22P02", "23505", "42P01"} {
		require.False(t, db.Transient(code), code)
	}
}

// tries counts how often a call is tried whose tries fail in turn.
func tries(ctx context.Context, failures ...error) (n int, err error) {
	err = db.New(nil, storetest.Patience).Call(ctx, "verb", func(context.Context) error {
		n++
		return failures[n-1]
	})
	return n, err
}

func TestCallIsTriedAgainAfterWhatMayPassAndNotAfterOtherErrors(t *testing.T) {
	t.Parallel()
	deadlock, lost, bug := &pgconn.PgError{Code: "40P01"}, io.ErrUnexpectedEOF, errors.New("bug")
	n, err := tries(t.Context(), deadlock, lost, nil)
	require.NoError(t, err)
	require.Equal(t, 3, n)

	n, err = tries(t.Context(), deadlock, deadlock, deadlock)
	require.ErrorIs(t, err, job.ErrUnavailable)
	require.Equal(t, db.MaxTries, n)

	n, err = tries(t.Context(), bug)
	require.ErrorIs(t, err, bug)
	require.Equal(t, 1, n)

	ended, end := context.WithCancel(t.Context())
	end()
	n, err = tries(ended, deadlock)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, n)
}
