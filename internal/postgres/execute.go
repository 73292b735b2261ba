package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

var (
	leasedPayloadSQL = statements.Named("leased payload")
	leaseHeldSQL     = statements.Named("lease held")
	executeSQL       = statements.Named("execute")
	succeedSQL       = statements.Named("succeed")
	beginSQL         = statements.Named("begin")
	commitSQL        = statements.Named("commit")
	rollbackSQL      = statements.Named("rollback")
)

// Execute implements worker.Queue. The built-in load shares its statement with those that come at the same time, unless its payload is
// long. One that did not win there, for whatever reason, goes alone.
func (s *Store) Execute(ctx context.Context, l worker.Lease) error {
	payload, err := s.leasedPayload(ctx, l)
	if err != nil {
		return s.loadError(err)
	}
	if s.load.Load().builtin && l.Payload != nil {
		if won, _ := s.executions.Do(ctx, l); len(won) > 0 {
			return nil
		}
	}
	return s.executeAlone(ctx, l, payload)
}

// shareExecution carries out the executions whose leases are alive and whose jobs are free.
func (s *Store) shareExecution(ctx context.Context, leases []worker.Lease) (won []batch.Placed[worker.Lease], err error) {
	args := leaseColumns(leases)
	var places []int
	err = s.db.Try(ctx, "execute", func(ctx context.Context) error {
		return s.write(ctx, db.Rows(executeSQL, args, &places, pgx.RowTo[int]))
	})
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		l := leases[place-1]
		s.notices.PublishLease(l, job.StatusSucceeded)
		won = append(won, batch.Placed[worker.Lease]{Result: l, Place: place})
	}
	return won, nil
}

// leaseColumns turns leases into arrays, one for each column.
func leaseColumns(leases []worker.Lease) statements.Args {
	owners, ids := make([][]byte, len(leases)), make([]uuid.UUID, len(leases))
	claimIDs, records := make([]uuid.UUID, len(leases)), make([]json.RawMessage, len(leases))
	for i, l := range leases {
		owners[i], ids[i], claimIDs[i], records[i] = l.Owner[:], l.JobID, l.ClaimID, l.Payload
	}
	return statements.Args{"owners": owners, "ids": ids, "claim_ids": claimIDs, "records": records}
}

// leaseArgs name one lease.
func leaseArgs(l worker.Lease) statements.Args {
	return statements.Args{"owner": l.Owner[:], "id": l.JobID, "claim_id": l.ClaimID}
}

// executeAlone carries out one execution. Load, fence and ledger row are one transaction and one round trip, in which nothing locks
// the job's row before the fence does. What was never executed is sent again.
func (s *Store) executeAlone(ctx context.Context, l worker.Lease, payload []byte) error {
	var err error
	for range db.MaxTries {
		if err = s.transact(ctx, s.execution(ctx, l, payload)...); !neverExecuted(err) {
			break
		}
	}
	if err != nil {
		return s.loadError(err)
	}
	s.notices.PublishLease(l, job.StatusSucceeded)
	return nil
}

// leasedPayload verifies what the job is to load. A long payload did not come with the lease.
func (s *Store) leasedPayload(ctx context.Context, l worker.Lease) ([]byte, error) {
	payload := l.Payload
	if payload == nil {
		err := s.db.Send(ctx, db.Row(leasedPayloadSQL, leaseArgs(l), func(row pgx.Row) error { return row.Scan(&payload) }))
		if err != nil {
			return nil, err
		}
	}
	if sha256.Sum256(payload) != l.Digest {
		return nil, errIntegrity
	}
	return payload, nil
}

// Holds implements worker.Queue.
func (s *Store) Holds(ctx context.Context, l worker.Lease) (held bool, err error) {
	err = s.db.Query(ctx, "lease held", db.Row(leaseHeldSQL, leaseArgs(l), func(row pgx.Row) error { return row.Scan(&held) }))
	return held, err
}

// execution is the whole transaction. Its COMMIT is sent without having seen that the statements before it succeeded: after
// one that failed, PostgreSQL passes over the rest. BEGIN is there for loads that would otherwise commit by themselves.
func (s *Store) execution(ctx context.Context, l worker.Lease, payload []byte) []db.Query {
	return append(s.loading(ctx, l, payload), lockTimeout(s.config.LockTimeout), db.Exec(succeedSQL, leaseArgs(l)), db.Exec(commitSQL, nil))
}

// loading begins a transaction with the load in it.
func (s *Store) loading(ctx context.Context, l worker.Lease, payload []byte) []db.Query {
	steps := []db.Query{db.Exec(beginSQL, nil)}
	if deadline, bounded := ctx.Deadline(); bounded {
		steps = append(steps, db.SetDuration("statement_timeout", max(time.Until(deadline), time.Millisecond)))
	}
	return append(steps, s.load.Load().query(l, payload))
}

// transact sends steps that are a transaction, and ends that when they did not. A connection on which a statement could not even be
// executed is given up.
func (s *Store) transact(ctx context.Context, steps ...db.Query) error {
	return s.config.Loads.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		err := db.Send(ctx, conn, steps...)
		if conn.Conn().PgConn().TxStatus() == 'E' {
			err = errors.Join(err, db.Send(ctx, conn, db.Exec(rollbackSQL, nil)))
		}
		if neverExecuted(err) {
			err = errors.Join(err, conn.Conn().Close(ctx))
		}
		return err
	})
}
