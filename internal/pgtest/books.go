package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// wrongRowsSQL names every row that breaks a promise, with the promise. It takes a load that writes one row of
// processed_data for each record, as the built-in one does.
const wrongRowsSQL = `
WITH book AS (
	SELECT job.*,
		(SELECT count(*) FROM processed_data AS effect
			WHERE (effect.principal_scope_hash, effect.job_record_id) = (job.principal_scope_hash, job.job_record_id)) AS effects,
		(SELECT count(*) FROM etl_idempotency_records AS ledger
			WHERE (ledger.principal_scope_hash, ledger.job_record_id) = (job.principal_scope_hash, job.job_record_id)
			AND ledger.request_digest = job.request_digest AND ledger.record_count = job.record_count) AS entries,
		(SELECT coalesce(source.replay_generation_count, 0) FROM etl_job_records AS source
			WHERE source.principal_scope_hash = job.principal_scope_hash
			AND source.job_record_id = job.replay_source_job_record_id
			AND source.job_status IN ('FAILED', 'CANCELLED')) AS source_generation
	FROM etl_job_records AS job
)
SELECT job_record_id || ': SUCCEEDED with ' || effects || ' effects of ' || record_count || ' records'
FROM book WHERE job_status = 'SUCCEEDED' AND effects <> record_count
UNION ALL
SELECT job_record_id || ': SUCCEEDED with ' || entries || ' ledger rows'
FROM book WHERE job_status = 'SUCCEEDED' AND entries <> 1
UNION ALL
SELECT job_record_id || ': ' || job_status || ' with ' || effects || ' effects and ' || entries || ' ledger rows'
FROM book WHERE job_status <> 'SUCCEEDED' AND effects + entries > 0
UNION ALL
SELECT job_record_id || ': ' || job_status || ' that was never claimed'
FROM book WHERE job_status IN ('RUNNING', 'SUCCEEDED', 'FAILED') AND attempt_count = 0
UNION ALL
SELECT job_record_id || ': generation ' || replay_generation_count || ' from generation ' || coalesce(source_generation::text, 'unknown')
FROM book WHERE replay_generation_count IS DISTINCT FROM source_generation + 1 AND replay_generation_count IS NOT NULL
ORDER BY 1`

// WrongRows are the rows of a database that break a promise, each with what is wrong: effects without
// success, success without its effects or its one ledger row, a broken lineage. After a fault there must be none. What a
// job loaded may outlive the job, since a purge leaves it.
func WrongRows(t testing.TB, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), Superuser(t, url))
	if err != nil {
		t.Fatalf("pgtest: read the books: %v", err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), wrongRowsSQL)
	if err != nil {
		t.Fatalf("pgtest: read the books: %v", err)
	}
	wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("pgtest: read the books: %v", err)
	}
	return wrong
}
