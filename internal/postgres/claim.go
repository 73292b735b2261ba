package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

var claimSQL = statements.Named("claim")

// maxClaimedPayload is the longest payload in bytes that comes with its lease. A longer one is read when its job is executed, so
// that a batch of leases stays small.
const maxClaimedPayload = 16 << 10

// Claim implements worker.Queue.
func (s *Store) Claim(ctx context.Context, r worker.ClaimRequest) (worker.Claimed, error) {
	var leases []worker.Lease
	err := s.db.Query(ctx, "claim", planOnce, db.Rows(claimSQL, statements.Args{
		"limit": r.Limit, "worker_id": r.WorkerID, "duration": r.Duration, "max_attempts": r.MaxAttempts,
		"failure_code": job.FailureAttemptsExhausted, "max_claimed_payload": maxClaimedPayload,
	}, &leases, scanClaim))
	var claimed worker.Claimed
	for _, l := range leases {
		if l.ClaimID == uuid.Nil {
			claimed.Exhausted = append(claimed.Exhausted, l)
			s.notices.PublishLease(l, job.StatusFailed)
			continue
		}
		s.notices.PublishLease(l, job.StatusRunning)
		claimed.Leases = append(claimed.Leases, l)
	}
	return claimed, err
}

// planOnce keeps PostgreSQL from planning a statement anew for its arguments, until the end of the transaction.
var planOnce = db.Set("plan_cache_mode", "force_generic_plan")

// scanClaim reads a lease. One without a claim id stands for a job that was failed instead.
func scanClaim(row pgx.CollectableRow) (worker.Lease, error) {
	var (
		l             worker.Lease
		owner, digest []byte
		claim         *uuid.UUID
		startedAt     *time.Time
	)
	err := row.Scan(&owner, &l.JobID, &l.RootID, &claim, &l.Attempt, &l.Faults, &startedAt, &l.Waited, &digest, &l.Payload, &l.TraceParent)
	if startedAt != nil {
		l.StartedAt = *startedAt
	}
	copy(l.Owner[:], owner)
	copy(l.Digest[:], digest)
	if claim != nil {
		l.ClaimID = *claim
	}
	return l, err
}
