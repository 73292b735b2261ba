package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fencepost/internal/job"
)

// The SQLSTATE codes (PostgreSQL documentation, appendix A) that are handled by name.
const (
	codeNotNullViolation     = "23502"
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeLockNotAvailable     = "55P03"
	codeQueryCanceled        = "57014"
	codeReadOnlyTransaction  = "25006"
)

// unavailableClasses are the SQLSTATE classes of a server that cannot serve now: connection exception, insufficient
// resources, operator intervention, system error.
var unavailableClasses = []string{"08", "53", "57", "58"}

// maxTries bounds how often one call is tried.
const maxTries = 3

// call runs one verb within the call timeout. It tries again after a serialization failure, a deadlock or a lost
// connection. When the lost call may have committed that is safe too: every write has a key or an exact lease, so the
// second try finds what the first one did.
func (s *Store) call(ctx context.Context, verb string, try func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	bounded, span := beginSpan(bounded, verb)
	var err error
	for range maxTries {
		err = try(bounded)
		if !retryable(err) || bounded.Err() != nil {
			break
		}
		if !conflict(err) {
			s.pool.Reset() // the other idle connections are probably lost too, and no try should go to finding that out
		}
	}
	err = classify(ctx, verb, err)
	endSpan(span, err)
	return err
}

// retryable reports whether a second try may fare better at once.
func retryable(err error) bool {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return conflict(err) || unavailableCode(pgErr.Code)
	}
	return connectionLost(err)
}

// conflict reports whether a transaction lost to another one, on a connection that is as good as before.
func conflict(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains([]string{codeSerializationFailure, codeDeadlockDetected}, pgErr.Code)
}

// classify turns an error into one of the core's, and wraps what it does not know. The caller's own cancellation stays
// what it is.
func classify(ctx context.Context, verb string, err error) error {
	pgErr, fromServer := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil || errors.Is(err, job.ErrNotFound):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", verb, ctx.Err())
	case fromServer && pgErr.Code == codeLockNotAvailable:
		return fmt.Errorf("%s: %w: %w", verb, job.ErrBusy, err)
	case fromServer && (unavailableCode(pgErr.Code) || retryable(err)), connectionLost(err):
		return fmt.Errorf("%s: %w: %w", verb, job.ErrUnavailable, err)
	default:
		return fmt.Errorf("%s: %w", verb, err)
	}
}

// unavailableCode reports whether a SQLSTATE says that the server cannot serve now, a read-only standby included.
func unavailableCode(code string) bool {
	return code == codeReadOnlyTransaction || slices.Contains(unavailableClasses, code[:2])
}

// connectionLost reports whether an error came from the connection rather than from the server, a deadline included.
func connectionLost(err error) bool {
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connect || network || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded)
}

// A statement is one SQL statement with its arguments.
type statement struct {
	sql  string
	args []any
}

// setLockTimeout bounds, for its transaction, how long the statements behind it wait for a row.
func (s *Store) setLockTimeout() statement {
	return setting("lock_timeout", s.config.LockTimeout)
}

// setConfig sets a parameter for the transaction.
const setConfig = `SELECT set_config($1, $2, true)`

// setting gives a parameter of the server to a duration until the end of the transaction.
func setting(name string, d time.Duration) statement {
	return statement{setConfig, []any{name, fmt.Sprintf("%dms", d.Milliseconds())}}
}

// writeRow sends one statement under the lock timeout, in one round trip and one implicit transaction, and reads the row
// that it returns. Without a row it is pgx.ErrNoRows, and nothing was changed.
func (s *Store) writeRow(ctx context.Context, read func(pgx.Row) error, sql string, args ...any) error {
	return s.write(ctx, read, statement{sql, args})
}

// createRow is writeRow for a new job, which takes the trace context of the request along if that is traced.
func (s *Store) createRow(ctx context.Context, read func(pgx.Row) error, sql string, args ...any) error {
	parent := traceParent(ctx)
	if parent == "" {
		return s.writeRow(ctx, read, sql, args...)
	}
	return s.write(ctx, read, statement{setConfig, []any{traceSetting, parent}}, statement{sql, args})
}

// write sends statements under the lock timeout, and reads the row of the last one.
func (s *Store) write(ctx context.Context, read func(pgx.Row) error, statements ...statement) error {
	batch := &pgx.Batch{}
	queue(batch, s.setLockTimeout())
	queue(batch, statements...).QueryRow(read)
	return s.pool.SendBatch(ctx, batch).Close()
}

// queryUnder sends one statement under a setting, in one round trip and one implicit transaction, and collects its rows.
func queryUnder[T any](
	ctx context.Context, s *Store, verb string, collect pgx.RowToFunc[T], under, st statement,
) (rows []T, err error) {
	err = s.call(ctx, verb, func(ctx context.Context) error {
		batch := &pgx.Batch{}
		queue(batch, under, st).Query(func(result pgx.Rows) (err error) {
			rows, err = pgx.CollectRows(result, collect)
			return err
		})
		return s.pool.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// queue adds statements to a batch and returns the last one, to be given a reader.
func queue(batch *pgx.Batch, statements ...statement) *pgx.QueuedQuery {
	var last *pgx.QueuedQuery
	for _, st := range statements {
		last = batch.Queue(st.sql, st.args...)
	}
	return last
}
