package storetest

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// RequireProblem checks that an error is the problem with a code.
func RequireProblem(t testing.TB, code job.Code, err error) *job.Problem {
	t.Helper()
	var problem *job.Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, code, problem.Code)
	return problem
}

// RequireLoadError checks a LoadError, and that its text is the code alone.
func RequireLoadError(t testing.TB, code job.FailureCode, transient bool, err error) {
	t.Helper()
	var failure *worker.LoadError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, code, failure.Code, errors.Unwrap(failure))
	require.Equal(t, transient, failure.Fault == worker.FaultPassing)
	require.Equal(t, string(code), err.Error())
}

// RequireSQLState checks the SQLSTATE that the server answered with.
func RequireSQLState(t testing.TB, code string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, code, pgErr.Code, pgErr.Message)
}

// RequireStillReferenced checks that a foreign key refused a deletion: with 23503 up to PostgreSQL 17, and since then with
// the code of the standard for ON DELETE RESTRICT.
func RequireStillReferenced(t testing.TB, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Contains(t, []string{"23503", "23001"}, pgErr.Code, pgErr.Message)
	require.NotEmpty(t, pgErr.ConstraintName)
}
