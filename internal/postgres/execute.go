package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// leasedPayloadSQL reads the payload of a job under its exact live lease. It takes no lock: a cancellation must not wait
// for the execution.
const leasedPayloadSQL = `
SELECT request_payload, request_digest, record_count
FROM etl_job_records
WHERE principal_scope_hash = $1 AND job_record_id = $2
	AND job_status = 'RUNNING' AND lease_claim_id = $3 AND lease_expires_at > clock_timestamp()`

const ledgerSQL = `
INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING`

// succeedSQL is the fence: it matches only under the exact live lease, so whatever took the lease away makes the whole
// transaction roll back.
const succeedSQL = `
UPDATE etl_job_records
SET job_status = 'SUCCEEDED',
	request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
	updated_at = clock_timestamp()
WHERE principal_scope_hash = $1 AND job_record_id = $2
	AND job_status = 'RUNNING' AND lease_claim_id = $3 AND lease_expires_at > clock_timestamp()`

// errIntegrity means that the payload no longer has its digest, or that the job's effects are already in the ledger.
var errIntegrity = errors.New("payload or ledger does not match the job")

// Execute implements worker.Queue: one transaction of three round trips, in which nothing locks the job's row before the
// fence does.
func (s *Store) Execute(ctx context.Context, l worker.Lease) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		p, err := leasedPayload(ctx, tx, l)
		if err != nil {
			return err
		}
		return s.loadAndSucceed(ctx, tx, l, p)
	})
	if err != nil {
		return loadError(err)
	}
	s.notices.publishLease(l, job.StatusSucceeded)
	return nil
}

// leasedPayload reads and verifies what the job is to load.
func leasedPayload(ctx context.Context, tx pgx.Tx, l worker.Lease) (job.Payload, error) {
	var (
		p      job.Payload
		digest []byte
	)
	batch := &pgx.Batch{}
	if deadline, bounded := ctx.Deadline(); bounded {
		queue(batch, setting("statement_timeout", max(time.Until(deadline), time.Millisecond)))
	}
	batch.Queue(leasedPayloadSQL, l.Owner[:], l.JobID, l.ClaimID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&p.Bytes, &digest, &p.RecordCount)
	})
	err := tx.SendBatch(ctx, batch).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return p, worker.ErrStale
	}
	p.Digest = sha256.Sum256(p.Bytes)
	if err == nil && !slices.Equal(p.Digest[:], digest) {
		err = errIntegrity
	}
	return p, err
}

// loadAndSucceed sends the load, the ledger row and the fence in one round trip.
func (s *Store) loadAndSucceed(ctx context.Context, tx pgx.Tx, l worker.Lease, p job.Payload) error {
	batch := &pgx.Batch{}
	batch.Queue(s.config.Load.sql, s.config.Load.args(l, p.Bytes))
	queue(batch, s.setLockTimeout())
	batch.Queue(ledgerSQL, l.Owner[:], l.JobID, p.Digest[:], p.RecordCount).Exec(oneRow(errIntegrity))
	batch.Queue(succeedSQL, l.Owner[:], l.JobID, l.ClaimID).Exec(oneRow(worker.ErrStale))
	return tx.SendBatch(ctx, batch).Close()
}

// oneRow reports otherwise when a statement matched no row.
func oneRow(otherwise error) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != 1 {
			return otherwise
		}
		return nil
	}
}

// loadError names why an execution did not commit, as one of the closed failure codes.
func loadError(err error) error {
	pgErr, fromServer := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, worker.ErrStale):
		return worker.ErrStale
	case errors.Is(err, errIntegrity):
		return worker.NewLoadError(job.FailureIntegrity, false, err)
	case fromServer && !transientCode(pgErr.Code):
		return worker.NewLoadError(job.FailureTarget, false, err)
	case fromServer, connectionLost(err), errors.Is(err, context.Canceled):
		return worker.NewLoadError(job.FailureTargetUnavailable, true, err)
	default:
		return worker.NewLoadError(job.FailureInternal, false, fmt.Errorf("execute: %w", err))
	}
}

// transientCode reports whether a load that met this SQLSTATE may succeed when it is tried again.
func transientCode(code string) bool {
	transient := []string{codeSerializationFailure, codeDeadlockDetected, codeLockNotAvailable, codeQueryCanceled}
	return slices.Contains(transient, code) || unavailableCode(code)
}
