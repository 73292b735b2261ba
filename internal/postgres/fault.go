package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/worker"
)

// What "succeed" breaks when its fence has no row, and when the ledger has the job already.
const (
	codeNotNullViolation = "23502"

	ledgerTable = "etl_idempotency_records"
	ledgerKey   = "etl_idempotency_records_primary_key"
)

// errIntegrity means that the payload no longer has its digest, or that the job's effects are already in the ledger.
var errIntegrity = errors.New("payload or ledger does not match the job")

// classesOfJob are the SQLSTATE classes (PostgreSQL documentation, appendix A) of errors that other records could mend: cardinality
// violation, data exception, integrity constraint violation, WITH CHECK OPTION violation, program limit exceeded, and what PL/pgSQL
// raises.
var classesOfJob = []string{"21", "22", "23", "44", "54", "P0"}

// faultOf says whose fault an error of the server is. What is not known to be the records' or to pass is the load's, so that no job is
// burnt for it.
func faultOf(code string) worker.Fault {
	switch {
	case db.Transient(code):
		return worker.FaultPassing
	case slices.Contains(classesOfJob, code[:2]):
		return worker.FaultOfJob
	default:
		return worker.FaultOfLoad
	}
}

// neverExecuted reports whether the server refused a prepared statement, and not what it does: the statement was changed under it, or
// got lost or mixed up in a pooler. By its routine and not by its text, which is in the server's language.
func neverExecuted(err error) bool {
	pgErr, fromServer := errors.AsType[*pgconn.PgError](err)
	return fromServer && (slices.Contains([]string{"26000", "42P05", "08P01"}, pgErr.Code) ||
		pgErr.Code == "0A000" && pgErr.Routine == "RevalidateCachedQuery")
}

// loadError says why an execution did not commit.
func (s *Store) loadError(err error) error {
	pgErr, fromServer := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, pgx.ErrNoRows), fromServer && pgErr.Code == codeNotNullViolation && pgErr.TableName == ledgerTable:
		return worker.ErrStale
	case errors.Is(err, errIntegrity), fromServer && pgErr.ConstraintName == ledgerKey:
		return worker.NewLoadError(job.FailureIntegrity, worker.FaultOfJob, err)
	case fromServer:
		return s.serverError(pgErr)
	case db.ConnectionLost(err), errors.Is(err, context.Canceled):
		return worker.NewLoadError(job.FailureTargetUnavailable, worker.FaultPassing, err)
	default:
		return worker.NewLoadError(job.FailureInternal, worker.FaultOfJob, fmt.Errorf("execute: %w", err))
	}
}

// serverError describes an error of the server by what in it is no data.
func (s *Store) serverError(pgErr *pgconn.PgError) error {
	fault, code := faultOf(pgErr.Code), job.FailureTarget
	if fault == worker.FaultPassing {
		code = job.FailureTargetUnavailable
	}
	e := worker.NewLoadError(code, fault, pgErr)
	e.SQLState, e.Constraint = pgErr.Code, pgErr.ConstraintName
	e.Place = s.load.Load().place(pgErr.Position)
	return e
}
