package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// oldLineages begins a statement: page is the next $4 jobs by primary key behind job $2 of owner $1, and lineage those of
// their roots of which every job has ended and was last touched longer than $3 ago. So a purge reads the table once,
// however many statements it takes, and needs no index that every job would pay for.
const oldLineages = `
WITH page AS MATERIALIZED (
	SELECT principal_scope_hash, job_record_id, replay_root_job_record_id
	FROM etl_job_records
	WHERE (principal_scope_hash, job_record_id) > ($1, $2)
	ORDER BY principal_scope_hash, job_record_id
	LIMIT $4
), lineage AS MATERIALIZED (
	SELECT page.principal_scope_hash, page.job_record_id AS root_id, member.job_ids
	FROM page CROSS JOIN LATERAL (
		SELECT array_agg(job_record_id) AS job_ids
		FROM etl_job_records AS job
		WHERE job.principal_scope_hash = page.principal_scope_hash
			AND (job.job_record_id = page.job_record_id OR job.replay_root_job_record_id = page.job_record_id)
		HAVING bool_and(job_status IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
			AND updated_at < (SELECT clock_timestamp() - $3::interval))
	) AS member
	WHERE page.replay_root_job_record_id IS NULL
)`

// lastOfPage ends such a statement: it returns no row when there was no page any more.
const lastOfPage = `, last.principal_scope_hash, last.job_record_id
FROM (SELECT * FROM page ORDER BY principal_scope_hash DESC, job_record_id DESC LIMIT 1) AS last`

const countPurgeableSQL = oldLineages + `
SELECT (SELECT count(*) FROM lineage),
	(SELECT coalesce(sum(cardinality(job_ids)), 0) FROM lineage),
	(SELECT count(*) FROM lineage CROSS JOIN LATERAL (
		SELECT FROM etl_idempotency_records AS record
		WHERE record.principal_scope_hash = lineage.principal_scope_hash AND record.job_record_id = ANY (lineage.job_ids)
		OFFSET 0) AS ledger)` + lastOfPage

// purgeSQL deletes lineages whole. It first locks each job of theirs and never waits: a lineage that a replay, or another
// purge, holds a job of stays. A replay that comes later waits, and does not find its source. One that committed since the
// statement began is not seen by it, and makes the foreign keys refuse the statement when it ends; they are checked once all
// rows are gone, so leaves, roots and ledger rows may go in any order.
const purgeSQL = oldLineages + `, held AS MATERIALIZED (
	SELECT lineage.*, job.job_record_id
	FROM lineage CROSS JOIN LATERAL (
		SELECT job_record_id
		FROM etl_job_records
		WHERE principal_scope_hash = lineage.principal_scope_hash AND job_record_id = ANY (lineage.job_ids)
		FOR UPDATE SKIP LOCKED
	) AS job
), whole AS MATERIALIZED (
	SELECT principal_scope_hash, root_id, job_ids
	FROM held
	GROUP BY principal_scope_hash, root_id, job_ids
	HAVING count(*) = cardinality(job_ids)
), ledger AS (
	DELETE FROM etl_idempotency_records AS record USING whole
	WHERE record.principal_scope_hash = whole.principal_scope_hash AND record.job_record_id = ANY (whole.job_ids)
	RETURNING 1
), job AS (
	DELETE FROM etl_job_records AS job USING whole
	WHERE job.principal_scope_hash = whole.principal_scope_hash AND job.job_record_id = ANY (whole.job_ids)
	RETURNING 1
)
SELECT (SELECT count(*) FROM whole), (SELECT count(*) FROM job), (SELECT count(*) FROM ledger)` + lastOfPage

// Retention says what a purge removes, and how.
type Retention struct {
	// OlderThan is how long ago the latest change of a lineage must be, by the database's clock.
	OlderThan time.Duration
	// BatchSize is how many jobs one transaction looks at. It removes at most as many lineages, with all their replays.
	BatchSize int
	// DryRun counts and removes nothing.
	DryRun bool
}

// Purged counts what a purge has removed, or would remove.
type Purged struct{ Lineages, Jobs, LedgerRows int }

// A purgedPage is what one statement has done, and the last job that it looked at.
type purgedPage struct {
	Purged
	Owner []byte
	JobID uuid.UUID
}

// Purge removes lineages of which every job is terminal and old, each with its rows of the ledger, in one transaction a batch.
// What the jobs loaded stays. Keys of removed jobs are forgotten, and make new jobs when they are used again.
//
// It returns what it has removed even when it fails or ctx ends, upon which the batch that runs is still finished. It can be
// called again for the rest at any time, also at once with itself.
func Purge(ctx context.Context, pool *pgxpool.Pool, r Retention) (Purged, error) {
	var total Purged
	page := purgedPage{Owner: []byte{}}
	for ctx.Err() == nil {
		var err error
		page, err = r.purgePage(context.WithoutCancel(ctx), pool, page)
		if errors.Is(err, pgx.ErrNoRows) {
			return total, nil
		}
		if err != nil {
			return total, fmt.Errorf("purge: %w", err)
		}
		total.Lineages += page.Lineages
		total.Jobs += page.Jobs
		total.LedgerRows += page.LedgerRows
	}
	return total, ctx.Err()
}

// purgePage takes the page behind another one. When a replay has come in between, the next try sees it.
func (r Retention) purgePage(ctx context.Context, pool *pgxpool.Pool, behind purgedPage) (page purgedPage, err error) {
	sql := purgeSQL
	if r.DryRun {
		sql = countPurgeableSQL
	}
	for range maxTries {
		rows, _ := pool.Query(ctx, sql, behind.Owner, behind.JobID, r.OlderThan, r.BatchSize)
		page, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[purgedPage])
		if !stillReferenced(err) {
			break
		}
	}
	return page, err
}

// stillReferenced reports whether a foreign key has refused a deletion. The code is another one since PostgreSQL 18.
func stillReferenced(err error) bool {
	pgErr, fromServer := errors.AsType[*pgconn.PgError](err)
	return fromServer && slices.Contains([]string{"23503", "23001"}, pgErr.Code)
}
