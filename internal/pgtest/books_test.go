package pgtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// wrongBooks breaks each promise once, past the constraints that would refuse it. The last byte of an id is its number.
const wrongBooks = `
SET session_replication_role = replica; -- no triggers, no foreign keys
CREATE FUNCTION job(number integer, status text, source integer DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
		request_payload, job_status, attempt_count, failure_code, cancellation_key_hash, cancellation_code, job_cancelled_at,
		replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
	SELECT sha256('owner'), id(number), sha256(number::text::bytea), sha256('[]'), 1,
		CASE WHEN status = 'PENDING' THEN '[]'::bytea END, status, CASE WHEN status = 'SUCCEEDED' THEN 1 ELSE 0 END,
		CASE WHEN status = 'FAILED' THEN 'failure' END,
		CASE WHEN status = 'CANCELLED' THEN sha256('') END, CASE WHEN status = 'CANCELLED' THEN 'cancelled' END,
		CASE WHEN status = 'CANCELLED' THEN now() END,
		id(source), id(source), CASE WHEN source IS NOT NULL THEN 2 END
$$;
CREATE FUNCTION effect(number integer) RETURNS void LANGUAGE sql AS $$
	INSERT INTO processed_data VALUES (sha256('owner'), id(number), 1, 'a', '{}')
$$;
CREATE FUNCTION entry(number integer, digest text DEFAULT '[]') RETURNS void LANGUAGE sql AS $$
	INSERT INTO etl_idempotency_records VALUES (sha256('owner'), id(number), sha256(digest::bytea), 1)
$$;
SELECT job(1, 'SUCCEEDED'), effect(1), entry(1);
SELECT job(2, 'SUCCEEDED'), entry(2);
SELECT job(3, 'SUCCEEDED'), effect(3), entry(3, 'other bytes');
SELECT job(4, 'CANCELLED'), effect(4);
SELECT job(5, 'PENDING'), entry(5);
SELECT job(6, 'FAILED');
SELECT job(7, 'PENDING', 4);`

func TestBooksNameEachRowThatIsWrongAndNoOther(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	require.Empty(t, pgtest.WrongRows(t, url))
	pool := pgtest.SuperuserPool(t, url)
	_, err := pool.Exec(t.Context(), `CREATE FUNCTION id(number integer) RETURNS uuid LANGUAGE sql AS
		$$ SELECT ('00000000-0000-0000-0000-' || lpad(number::text, 12, '0'))::uuid $$`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), wrongBooks)
	require.NoError(t, err)
	const id = "00000000-0000-0000-0000-00000000000"
	require.Equal(t, []string{
		id + "2: SUCCEEDED with 0 effects of 1 records",
		id + "3: SUCCEEDED with 0 ledger rows",
		id + "4: CANCELLED with 1 effects and 0 ledger rows",
		id + "5: PENDING with 0 effects and 1 ledger rows",
		id + "6: FAILED that was never claimed",
		id + "7: generation 2 from generation 0",
	}, pgtest.WrongRows(t, url))
}
