package seed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// firstFuelRow is behind every seeded row.
const firstFuelRow = 50_000_000

// Fuel hands out row numbers for writes, each only once, and makes PENDING jobs of them. Row n is user n mod [Users]'s.
type Fuel struct {
	databaseURL string

	mu   sync.Mutex
	next int64
}

// NewFuel begins with no rows handed out. A database must have only one.
func NewFuel(databaseURL string) *Fuel { return &Fuel{databaseURL: databaseURL, next: firstFuelRow} }

// Reserve hands out count numbers, from first on, of rows that do not exist.
func (f *Fuel) Reserve(count int64) (first int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first = f.next
	f.next += (count + Users - 1) / Users * Users
	return first
}

// pendingSQL makes rows $1 to $2 for the owners $3 with the payload $4 of $5 records, due since $6.
var pendingSQL = `
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload,
	record_count, next_attempt_at)
SELECT ($3::bytea[])[n % ` + literal(Users) + ` + 1], ` + IDSQL("n") + `, sha256(int8send(n)), sha256($4::bytea), $4::bytea,
	$5, clock_timestamp() - $6::interval
FROM generate_series($1::bigint, $2::bigint) AS n`

// Pending makes count jobs, due at once, and returns the number of the first.
func (f *Fuel) Pending(ctx context.Context, count int64) (first int64, err error) {
	return f.PendingSince(ctx, count, []byte(Payload), RecordCount, 0)
}

// PendingSince is Pending with another payload, for jobs that have been due for a while: workers take those first.
func (f *Fuel) PendingSince(
	ctx context.Context, count int64, payload []byte, records int, due time.Duration,
) (first int64, err error) {
	conn, err := pgx.Connect(ctx, f.databaseURL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	first = f.Reserve(count)
	if _, err := conn.Exec(ctx, pendingSQL, first, first+count-1, owners(), payload, records, due); err != nil {
		return 0, fmt.Errorf("make pending jobs: %w", err)
	}
	return first, nil
}

// leaseSQL makes rows $2 to $3 of the owners $1 RUNNING, each under a claim that has the id of its job.
const leaseSQL = `
UPDATE etl_job_records
SET job_status = 'RUNNING', attempt_count = 1, updated_at = clock_timestamp(),
	lease_claim_id = job_record_id, lease_owner_id = job_record_id, lease_expires_at = clock_timestamp() + interval '1 hour'
WHERE principal_scope_hash = ANY ($1) AND job_record_id BETWEEN $2 AND $3`

// Running makes count jobs with leases of an hour, whose claims have the ids of the jobs, and returns the number of the first.
func (f *Fuel) Running(ctx context.Context, count int64) (first int64, err error) {
	conn, err := pgx.Connect(ctx, f.databaseURL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if first, err = f.Pending(ctx, count); err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, leaseSQL, owners(), ID(first), ID(first+count-1)); err != nil {
		return 0, fmt.Errorf("lease jobs: %w", err)
	}
	return first, nil
}

// Burn removes the jobs that are not at their end, by the indexes on those, and what was left of them and others in the indexes.
func (f *Fuel) Burn(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, f.databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return exec(ctx, conn,
		"DELETE FROM etl_job_records WHERE job_status = 'PENDING'", "DELETE FROM etl_job_records WHERE lease_owner_id IS NOT NULL",
		"VACUUM (INDEX_CLEANUP ON) etl_job_records")
}

// Count counts the rows of a range that are in a status.
func (f *Fuel) Count(ctx context.Context, first, count int64, status job.Status) (n int64, err error) {
	conn, err := pgx.Connect(ctx, f.databaseURL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT count(*) FROM etl_job_records
		WHERE principal_scope_hash = ANY ($1) AND job_record_id BETWEEN $2 AND $3 AND job_status = $4`,
		owners(), ID(first), ID(first+count-1), status).Scan(&n)
	return n, err
}

// owners are the users' owner hashes.
func owners() [][]byte {
	hashes := make([][]byte, Users)
	for i := range hashes {
		owner := job.OwnerOf(UserName(i))
		hashes[i] = owner[:]
	}
	return hashes
}
