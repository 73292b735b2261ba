package seed

import (
	"context"
	"slices"
	"time"
)

// Everyone shares a flood out among all users: row n is user n mod [Users]'s.
const Everyone = -1

// Flood is a great many jobs with the usual payload.
type Flood struct {
	// User is the number of the user who has them all, or [Everyone].
	User  int
	Count int64
	// Lease makes the jobs RUNNING, with a lease that ends so much later; before now when it is negative. With 0 they are
	// PENDING, due for a minute.
	Lease time.Duration
}

// floodSQL makes rows $1 to $2 for the owners $3, RUNNING when $4 says so, with a lease of $5.
var floodSQL = `
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count,
	job_status, attempt_count, next_attempt_at, lease_claim_id, lease_owner_id, lease_expires_at)
SELECT ($3::bytea[])[n % ` + literal(Users) + ` + 1], ` + IDSQL("n") + `, sha256(int8send(n)),
	sha256('` + Payload + `'), '` + Payload + `', ` + literal(RecordCount) + `,
	CASE WHEN $4::boolean THEN 'RUNNING' ELSE 'PENDING' END, CASE WHEN $4 THEN 1 ELSE 0 END, clock_timestamp() - interval '1 minute',
	CASE WHEN $4 THEN gen_random_uuid() END, CASE WHEN $4 THEN gen_random_uuid() END,
	CASE WHEN $4 THEN clock_timestamp() + $5::interval END
FROM generate_series($1::bigint, $2::bigint) AS n`

// Flood makes the jobs and returns the number of the first. Nothing else may use the table meanwhile.
func (f *Fuel) Flood(ctx context.Context, flood Flood) (first int64, err error) {
	hashes := owners()
	if flood.User != Everyone {
		hashes = slices.Repeat(hashes[flood.User:flood.User+1], Users)
	}
	first = f.Reserve(flood.Count)
	return first, fill(ctx, f.databaseURL, insertion{
		sql: floodSQL, first: first, count: flood.Count, args: []any{hashes, flood.Lease != 0, flood.Lease},
	})
}
