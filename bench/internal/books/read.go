package books

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const rowsSQL = `
SELECT job_record_id, job_status, record_count,
	replay_source_job_record_id, replay_root_job_record_id, coalesce(replay_generation_count, 0),
	(SELECT count(*) FROM processed_data AS effect WHERE effect.job_record_id = job.job_record_id
		AND effect.principal_scope_hash = job.principal_scope_hash),
	(SELECT count(*) FROM etl_idempotency_records AS ledger WHERE ledger.job_record_id = job.job_record_id
		AND ledger.principal_scope_hash = job.principal_scope_hash)
FROM etl_job_records AS job`

const totalsSQL = `SELECT (SELECT count(*) FROM processed_data), (SELECT count(*) FROM etl_idempotency_records)`

// Read takes everything from one snapshot of the database.
func Read(ctx context.Context, conn *pgx.Conn) (d Database, err error) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, conn, snapshot, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, totalsSQL).Scan(&d.Effects, &d.Ledger); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, rowsSQL)
		if err != nil {
			return err
		}
		d.Jobs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
		return err
	})
	if err != nil {
		return Database{}, fmt.Errorf("read the books: %w", err)
	}
	return d, nil
}

// Active counts the jobs that have not ended.
func Active(ctx context.Context, conn *pgx.Conn) (n int, err error) {
	err = conn.QueryRow(ctx, `SELECT count(*) FROM etl_job_records WHERE job_status IN ('PENDING', 'RUNNING')`).Scan(&n)
	return n, err
}
