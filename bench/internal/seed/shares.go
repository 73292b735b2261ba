package seed

import (
	"context"

	"fencepost/internal/job"
)

// Others stands for 10,000 owners who are no users.
const Others = -1

// Share is a run of rows that one user owns, or the others do. All jobs have succeeded, except the failed ones.
type Share struct {
	// User is the number of the user, or [Others].
	User int
	// First is the number of the first row, and Count that of the rows.
	First, Count int64
	// Failed is how many of them have failed, at even distances. Each has a replay, which is the next row. Count must be an even
	// multiple of it.
	Failed int64
}

// Any picks one of the jobs at random.
func (s Share) Any() (row int64) { return s.First + below(s.Count) }

// Behind picks a job that at least a page of jobs lies behind, in a list that begins with the newest.
func (s Share) Behind() (row int64) {
	return s.First + job.MaxPageSize + 1 + below(s.Count-job.MaxPageSize-1)
}

// AnyFailed picks one of the jobs that have failed.
func (s Share) AnyFailed() (row int64) { return s.First + below(s.Failed)*s.step() }

// step is the distance between failed jobs; without any, it reaches past the last row.
func (s Share) step() int64 { return s.Count / max(s.Failed, 1) }

// owner is null for the others.
func (s Share) owner() []byte {
	if s.User == Others {
		return nil
	}
	hash := job.OwnerOf(UserName(s.User))
	return hash[:]
}

// sharesSQL makes rows $1 to $2 of the owner $3. From row $4 on, every $5th has failed, if there is to be any: $6.
var sharesSQL = `
WITH numbered AS (
	SELECT n, $6::boolean AND (n - $4) % $5 = 0 AS failed, $6 AND (n - $4) % $5 = 1 AS replay,
		to_timestamp((` + literal(firstMillisecond) + ` + n) / 1000.0) AS at
	FROM generate_series($1::bigint, $2::bigint) AS n
)
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
	job_status, attempt_count, next_attempt_at, failure_code,
	replay_source_job_record_id, replay_root_job_record_id, replay_generation_count, created_at, updated_at)
SELECT coalesce($3::bytea, sha256(int8send(n / 2 % 10000))), ` + IDSQL("n") + `, sha256(int8send(n)), sha256('` + Payload + `'),
	` + literal(RecordCount) + `, CASE WHEN failed THEN 'FAILED' ELSE 'SUCCEEDED' END, 1, at,
	CASE WHEN failed THEN 'etl_target_failure' END,
	CASE WHEN replay THEN ` + IDSQL("n - 1") + ` END, CASE WHEN replay THEN ` + IDSQL("n - 1") + ` END, CASE WHEN replay THEN 1 END,
	at, at + interval '1 second'
FROM numbered`

// Shares fills an empty, migrated database.
func Shares(ctx context.Context, databaseURL string, shares ...Share) error {
	var all []insertion
	for _, s := range shares {
		all = append(all, insertion{
			sql: sharesSQL, first: s.First, count: s.Count, args: []any{s.owner(), s.First, s.step(), s.Failed > 0},
		})
	}
	return fill(ctx, databaseURL, all...)
}
