package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/postgres/storetest"
)

func TestPlainSQLCannotWriteMalformedEffects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SucceededJob()
	const effect, ledger = `INSERT INTO processed_data SELECT `, `INSERT INTO etl_idempotency_records SELECT `
	for statement, code := range map[string]string{
		effect + `sha256('owner'), gen_random_uuid(), 1, 'a', '{}'`:                          "",
		effect + `'short', gen_random_uuid(), 1, 'a', '{}'`:                                  "23514",
		effect + `sha256('owner'), gen_random_uuid(), 0, 'a', '{}'`:                          "23514",
		ledger + `sha256('owner'), gen_random_uuid(), sha256('[]'), 0`:                       "23503",
		ledger + `'short', job_record_id, sha256('[]'), 0 FROM etl_job_records`:              "23514",
		ledger + `principal_scope_hash, job_record_id, 'short', 0 FROM etl_job_records`:      "23514",
		ledger + `principal_scope_hash, job_record_id, sha256('[]'), 0 FROM etl_job_records`: "23505",
	} {
		err := w.Exec(statement)
		if code == "" {
			require.NoError(t, err)
			continue
		}
		storetest.RequireSQLState(t, code, err)
	}
}

func TestPlainSQLCannotWriteFreeTextAsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pending := w.Submit()
	for _, code := range []string{"", "Not a code!", "etl-x", "1etl", "et"} {
		storetest.RequireSQLState(t, "23514", w.Exec(`UPDATE etl_job_records SET job_status = 'CANCELLED', request_payload = NULL,
			cancellation_key_hash = sha256('k'), cancellation_code = $2, job_cancelled_at = clock_timestamp()
			WHERE job_record_id = $1`, pending.ID, code))
		storetest.RequireSQLState(t, "23514", w.Exec(`UPDATE etl_job_records SET job_status = 'FAILED', request_payload = NULL,
			failure_code = $2 WHERE job_record_id = $1`, pending.ID, code))
	}
}

func TestPlainSQLCannotInventStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pending := w.Submit()
	for _, status := range []string{"DONE", "pending", ""} {
		storetest.RequireSQLState(t, "23514", w.Exec(`UPDATE etl_job_records SET job_status = $2, request_payload = NULL
			WHERE job_record_id = $1`, pending.ID, status))
	}
}
