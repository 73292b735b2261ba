package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// leasedPayloadSQL reads the payload of a job under its exact live lease. It takes no lock: a cancellation must not wait
// for the execution.
const leasedPayloadSQL = `
SELECT request_payload
FROM etl_job_records
WHERE principal_scope_hash = $1 AND job_record_id = $2
	AND job_status = 'RUNNING' AND lease_claim_id = $3 AND lease_expires_at > clock_timestamp()`

// succeedJob is all that makes a job SUCCEEDED, but for the condition that is to follow: the exact live lease.
const succeedJob = `
	UPDATE etl_job_records
	SET job_status = 'SUCCEEDED',
		request_payload = NULL, lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL,
		updated_at = clock_timestamp()`

// succeedSQL is the fence and the ledger row. The fence matches only under the exact live lease. Where it does not, the ledger row
// has no digest, which its column refuses: whatever took the lease away makes the whole transaction roll back.
const succeedSQL = `
WITH fence AS (` + succeedJob + ` WHERE principal_scope_hash = $1 AND job_record_id = $2
		AND job_status = 'RUNNING' AND lease_claim_id = $3 AND lease_expires_at > clock_timestamp()
	RETURNING request_digest, record_count
)
INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
VALUES ($1, $2, (SELECT request_digest FROM fence), (SELECT record_count FROM fence))`

// gatheredExecutionSQL is the built-in load and succeedSQL for many leases; it tells by their places which ones won. Load and ledger get
// the jobs that the fence matched, and no others. It passes over a job that another transaction holds, because waiting for it would
// keep the other executions waiting.
const gatheredExecutionSQL = `
WITH free AS MATERIALIZED (
	SELECT owner, id, claim_id, records, place
	FROM unnest((SELECT $1::bytea[]), (SELECT $2::uuid[]), (SELECT $3::uuid[]), (SELECT $4::jsonb[]))
		WITH ORDINALITY AS leased (owner, id, claim_id, records, place)
	JOIN etl_job_records ON principal_scope_hash = owner AND job_record_id = id
	FOR NO KEY UPDATE OF etl_job_records SKIP LOCKED
), job AS (` + succeedJob + ` FROM free WHERE principal_scope_hash = owner AND job_record_id = id
		AND job_status = 'RUNNING' AND lease_claim_id = claim_id AND lease_expires_at > clock_timestamp()
	RETURNING owner, id, request_digest, record_count, records, place
), loaded AS (` + loadRecords + `
), ledger AS (
	INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
	SELECT owner, id, request_digest, record_count FROM job
)
SELECT place FROM job`

// What succeedSQL breaks when its fence has no row, and when the ledger has the job already.
const (
	ledgerTable = "etl_idempotency_records"
	ledgerKey   = "etl_idempotency_records_primary_key"
)

// errIntegrity means that the payload no longer has its digest, or that the job's effects are already in the ledger.
var errIntegrity = errors.New("payload or ledger does not match the job")

// Execute implements worker.Queue. The built-in load shares its statement with those that come at the same time, unless its payload is
// long, or it is in a trace, which is to show statements of its own. One that did not win there, for whatever reason, goes alone.
func (s *Store) Execute(ctx context.Context, l worker.Lease) error {
	payload, err := s.leasedPayload(ctx, l)
	if err != nil {
		return loadError(err)
	}
	if s.config.Load.builtin && l.Payload != nil && !recording(ctx) {
		if won, _ := s.executions.do(ctx, l); len(won) > 0 {
			return nil
		}
	}
	return s.executeAlone(ctx, l, payload)
}

// gatheredExecution carries out the executions whose leases are alive and whose jobs are free.
func (s *Store) gatheredExecution(ctx context.Context, leases []worker.Lease) ([]placed[worker.Lease], error) {
	owners, ids := make([][]byte, len(leases)), make([]uuid.UUID, len(leases))
	claimIDs, records := make([]uuid.UUID, len(leases)), make([]json.RawMessage, len(leases))
	for i, l := range leases {
		owners[i], ids[i], claimIDs[i], records[i] = l.Owner[:], l.JobID, l.ClaimID, l.Payload
	}
	st := statement{gatheredExecutionSQL, []any{owners, ids, claimIDs, records}}
	places, err := queryUnder(ctx, s, "execute", pgx.RowTo[int], s.setLockTimeout(), st)
	var won []placed[worker.Lease]
	for _, place := range places {
		l := leases[place-1]
		s.notices.publishLease(l, job.StatusSucceeded)
		won = append(won, placed[worker.Lease]{l, place})
	}
	return won, err
}

// executeAlone carries out one execution. Load, fence and ledger row are one transaction and one round trip, in which nothing locks
// the job's row before the fence does.
func (s *Store) executeAlone(ctx context.Context, l worker.Lease, payload []byte) error {
	if err := s.transact(ctx, s.execution(ctx, l, payload)); err != nil {
		return loadError(err)
	}
	s.notices.publishLease(l, job.StatusSucceeded)
	return nil
}

// leasedPayload verifies what the job is to load. A long payload did not come with the lease.
func (s *Store) leasedPayload(ctx context.Context, l worker.Lease) ([]byte, error) {
	payload := l.Payload
	if payload == nil {
		err := s.pool.QueryRow(ctx, leasedPayloadSQL, l.Owner[:], l.JobID, l.ClaimID).Scan(&payload)
		if err != nil {
			return nil, err
		}
	}
	if sha256.Sum256(payload) != l.Digest {
		return nil, errIntegrity
	}
	return payload, nil
}

// execution is the whole transaction. Its COMMIT is sent without having seen that the statements before it succeeded: after
// one that failed, PostgreSQL passes over the rest. BEGIN is there for loads that would otherwise commit by themselves.
func (s *Store) execution(ctx context.Context, l worker.Lease, payload []byte) *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue("begin")
	if deadline, bounded := ctx.Deadline(); bounded {
		queue(batch, setting("statement_timeout", max(time.Until(deadline), time.Millisecond)))
	}
	batch.Queue(s.config.Load.sql, s.config.Load.args(l, payload))
	queue(batch, s.setLockTimeout(), statement{succeedSQL, []any{l.Owner[:], l.JobID, l.ClaimID}})
	batch.Queue("commit")
	return batch
}

// transact sends a batch that is a transaction, and ends that when the batch did not.
func (s *Store) transact(ctx context.Context, batch *pgx.Batch) error {
	return s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		err := conn.SendBatch(ctx, batch).Close()
		if conn.Conn().PgConn().TxStatus() == 'E' {
			_, rollbackErr := conn.Exec(ctx, "rollback")
			err = errors.Join(err, rollbackErr)
		}
		return err
	})
}

// loadError names why an execution did not commit, as one of the closed failure codes.
func loadError(err error) error {
	pgErr, fromServer := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, pgx.ErrNoRows), fromServer && pgErr.Code == codeNotNullViolation && pgErr.TableName == ledgerTable:
		return worker.ErrStale
	case errors.Is(err, errIntegrity), fromServer && pgErr.ConstraintName == ledgerKey:
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
