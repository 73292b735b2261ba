package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"fencepost/internal/job"
)

// The SQLSTATE codes (PostgreSQL documentation, appendix A) that are handled by name.
const (
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeLockNotAvailable     = "55P03"
	codeQueryCanceled        = "57014"
)

// unavailableClasses are the SQLSTATE classes of a server that cannot serve now: connection exception, invalid transaction state (a
// timeout of the transaction, a standby), insufficient resources, operator intervention, system error.
var unavailableClasses = []string{"08", "25", "53", "57", "58"}

// retryable reports whether a second try may fare better at once.
func retryable(err error) bool {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return conflict(err) || unavailableCode(pgErr.Code)
	}
	return ConnectionLost(err)
}

// conflict reports whether a transaction lost to another one, on a connection that is as good as before.
func conflict(err error) bool {
	return slices.Contains([]string{codeSerializationFailure, codeDeadlockDetected}, SQLState(err))
}

// Classify turns an error into one of the core's, and wraps what it does not know. The caller's own cancellation stays
// what it is.
func Classify(ctx context.Context, verb string, err error) error {
	pgErr, fromServer := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil || errors.Is(err, job.ErrNotFound):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", verb, ctx.Err())
	case fromServer && pgErr.Code == codeLockNotAvailable:
		return fmt.Errorf("%s: %w: %w", verb, job.ErrBusy, err)
	case fromServer && (unavailableCode(pgErr.Code) || retryable(err)), ConnectionLost(err):
		return fmt.Errorf("%s: %w: %w", verb, job.ErrUnavailable, err)
	default:
		return fmt.Errorf("%s: %w", verb, err)
	}
}

// unavailableCode reports whether a SQLSTATE says that the server cannot serve now, a read-only standby included.
func unavailableCode(code string) bool {
	return slices.Contains(unavailableClasses, code[:2])
}

// SQLState is the code of an error of the server (PostgreSQL documentation, appendix A), or "" when it did not come from there.
func SQLState(err error) string {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return ""
	}
	return pgErr.Code
}

// ConnectionLost reports whether an error came from the connection rather than from the server, a deadline included.
func ConnectionLost(err error) bool {
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connect || network || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded)
}

// Transient reports whether a statement that met this SQLSTATE may succeed when it is tried again.
func Transient(code string) bool {
	transient := []string{codeSerializationFailure, codeDeadlockDetected, codeLockNotAvailable, codeQueryCanceled}
	return slices.Contains(transient, code) || unavailableCode(code)
}
