package postgres_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/storetest"
)

// These tests go around the service: plain SQL by a writer with full rights to the rows. SQLSTATE 23001 is a trigger's
// refusal, 23503 a foreign key's, 23505 a unique key's, 23514 a check's.

func TestPlainSQLCannotChangeTerminalJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, j := range []job.Job{w.SucceededJob(), w.FailedJob(), w.CancelledJob()} {
		before := w.Row(j.ID)
		for _, set := range []string{
			"job_status = 'PENDING', request_payload = '[]', failure_code = NULL, cancellation_key_hash = NULL, cancellation_code = NULL, job_cancelled_at = NULL",
			"job_status = job_status",
			"updated_at = clock_timestamp()",
			"attempt_count = attempt_count + 1",
			"failure_code = 'etl_target_failure'",
			"job_cancelled_at = clock_timestamp()",
			"submission_key_hash = sha256('other')",
			"next_attempt_at = clock_timestamp()",
		} {
			storetest.RequireSQLState(t, "23001", w.Exec("UPDATE etl_job_records SET "+set+" WHERE job_record_id = $1", j.ID))
		}
		require.Equal(t, before, w.Row(j.ID))
	}
}

func TestPlainSQLCannotChangeWhatIdentifiesJobInAnyState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replay, err := w.Replay(w.FailedJob(), "k")
	require.NoError(t, err)
	running := w.Claim()
	require.Equal(t, replay.Job.ID, running.JobID)
	pending := w.Submit()
	for _, id := range []uuid.UUID{pending.ID, running.JobID} {
		before := w.Row(id)
		for _, set := range []string{
			"principal_scope_hash = sha256('owner')",
			"job_record_id = gen_random_uuid()",
			"submission_key_hash = sha256('key')",
			"request_digest = sha256('bytes')",
			"record_count = record_count + 1",
			"created_at = created_at - interval '1 day'",
			"replay_source_job_record_id = gen_random_uuid(), replay_root_job_record_id = gen_random_uuid(), replay_generation_count = 7",
			"attempt_count = -1",
			"attempt_count = attempt_count - 1",
		} {
			storetest.RequireSQLState(t, "23001", w.Exec("UPDATE etl_job_records SET "+set+" WHERE job_record_id = $1", id))
		}
		require.Equal(t, before, w.Row(id))
	}
	storetest.RequireSQLState(t, "23001", w.Exec(`UPDATE etl_job_records SET replay_source_job_record_id = NULL,
		replay_root_job_record_id = NULL, replay_generation_count = NULL WHERE job_record_id = $1`, running.JobID))
}

func TestPlainSQLCannotMakeStateWithTheWrongFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lease, cancelled := "lease_claim_id = gen_random_uuid(), lease_owner_id = gen_random_uuid(), lease_expires_at = clock_timestamp()",
		"cancellation_key_hash = sha256('k'), cancellation_code = 'etl_x', job_cancelled_at = clock_timestamp()"
	pending := w.Submit()
	for _, set := range []string{
		"job_status = 'DONE'",
		"job_status = 'pending'",
		"request_payload = NULL",
		lease,
		"job_status = 'RUNNING'",
		"job_status = 'RUNNING', lease_claim_id = gen_random_uuid()",
		"job_status = 'RUNNING', request_payload = NULL, " + lease,
		"job_status = 'FAILED', request_payload = NULL",
		"job_status = 'FAILED', failure_code = 'etl_target_failure'",
		"job_status = 'FAILED', request_payload = NULL, failure_code = 'Not a code!'",
		"failure_code = 'etl_target_failure'",
		"job_status = 'CANCELLED', request_payload = NULL",
		"job_status = 'CANCELLED', " + cancelled,
		"job_status = 'CANCELLED', request_payload = NULL, cancellation_code = 'etl_x', job_cancelled_at = clock_timestamp()",
		"job_status = 'CANCELLED', request_payload = NULL, cancellation_key_hash = '', cancellation_code = 'etl_x', job_cancelled_at = clock_timestamp()",
		"job_status = 'CANCELLED', request_payload = NULL, failure_code = 'etl_target_failure', " + cancelled,
		cancelled,
	} {
		storetest.RequireSQLState(t, "23514", w.Exec("UPDATE etl_job_records SET "+set+" WHERE job_record_id = $1", pending.ID))
	}
	storetest.RequireSQLState(t, "23001", w.Exec("UPDATE etl_job_records SET job_status = 'SUCCEEDED', request_payload = NULL WHERE job_record_id = $1", pending.ID))
}

func TestPlainSQLCannotInsertMalformedJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	insert := func(columns, values string) error {
		return w.Exec(`INSERT INTO etl_job_records (principal_scope_hash, submission_key_hash, request_digest, record_count, ` + columns + `)
			VALUES (sha256('owner'), sha256('` + uuid.NewString() + `'), sha256('[]'), 0, ` + values + `)`)
	}
	require.NoError(t, insert("job_record_id, request_payload", "gen_random_uuid(), '[]'"))
	for columns, values := range map[string]string{
		"job_record_id, request_payload":                             "'00000000-0000-0000-0000-000000000000', '[]'",
		"job_record_id":                                              "gen_random_uuid()",
		"job_record_id, request_payload, attempt_count":              "gen_random_uuid(), '[]', -1",
		"job_record_id, request_payload, replay_generation_count":    "gen_random_uuid(), '[]', 1",
		"job_record_id, request_payload, job_status":                 "gen_random_uuid(), '[]', 'SUCCEEDED'",
		"job_record_id, request_payload, replay_root_job_record_id":  "gen_random_uuid(), '[]', gen_random_uuid()",
		"job_record_id, job_status, failure_code, cancellation_code": "gen_random_uuid(), 'FAILED', 'etl_x', 'etl_y'",
		"job_record_id, request_payload, lease_expires_at":           "gen_random_uuid(), '[]', clock_timestamp()",
		"job_record_id, request_payload, job_status, lease_claim_id": "gen_random_uuid(), '[]', 'RUNNING', gen_random_uuid()",
	} {
		storetest.RequireSQLState(t, "23514", insert(columns, values))
	}
	for _, column := range []string{"principal_scope_hash", "submission_key_hash", "request_digest"} {
		columns := map[string]string{
			"principal_scope_hash": "sha256('o')", "submission_key_hash": "sha256('k')", "request_digest": "sha256('d')",
		}
		columns[column] = "'short'"
		storetest.RequireSQLState(t, "23514", w.Exec(`INSERT INTO etl_job_records
			(principal_scope_hash, submission_key_hash, request_digest, record_count, job_record_id, request_payload) VALUES (`+
			columns["principal_scope_hash"]+","+columns["submission_key_hash"]+","+columns["request_digest"]+", 0, gen_random_uuid(), '[]')"))
	}
}

// insertReplay inserts a replay row by hand; each field can be falsified.
func (w *world) insertReplay(change func(columns map[string]any)) error {
	columns := map[string]any{
		"owner": w.Owner[:], "source": nil, "root": nil, "generation": 1, "digest": nil,
		"status": "PENDING", "attempts": 0, "payload": storetest.Batch, "failure": nil, "id": uuid.New(),
	}
	change(columns)
	return w.Exec(`INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest,
			request_payload, record_count, job_status, attempt_count, failure_code,
			replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
		VALUES ($1, $2, sha256($3), coalesce($4, sha256($5)), $6, 2, $7, $8, $9, $10, $11, $12)`,
		columns["owner"], columns["id"], []byte(uuid.NewString()), columns["digest"], storetest.Batch, columns["payload"],
		columns["status"], columns["attempts"], columns["failure"], columns["source"], columns["root"], columns["generation"])
}

func TestPlainSQLCannotInsertFalseLineage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded := w.SucceededJob()
	root := w.FailedJob()
	first, err := w.Replay(root, "first")
	require.NoError(t, err)
	_, err = w.Cancel(first.Job, "k")
	require.NoError(t, err)
	other := w.CancelledJob()
	pending := w.Submit()
	require.Equal(t, 5, w.Count("etl_job_records"))
	of := func(source, root uuid.UUID, generation int) func(map[string]any) {
		return func(c map[string]any) { c["source"], c["root"], c["generation"] = source, root, generation }
	}
	with := func(base func(map[string]any), name string, value any) func(map[string]any) {
		return func(c map[string]any) { base(c); c[name] = value }
	}
	itself := uuid.New()
	honest := of(root.ID, root.ID, 1)
	for name, lie := range map[string]func(map[string]any){
		"pending source":          of(pending.ID, pending.ID, 1),
		"succeeded source":        of(succeeded.ID, succeeded.ID, 1),
		"absent source":           of(uuid.New(), root.ID, 1),
		"absent root":             of(root.ID, uuid.New(), 1),
		"root of another lineage": of(root.ID, other.ID, 1),
		"root that is a replay":   of(first.Job.ID, first.Job.ID, 2),
		"generation skipped":      of(root.ID, root.ID, 2),
		"generation not grown":    of(first.Job.ID, root.ID, 1),
		"other digest":            with(honest, "digest", make([]byte, 32)),
		"other owner":             with(honest, "owner", make([]byte, 32)),
		"attempt already made":    with(honest, "attempts", 1),
		"itself as source":        with(of(itself, root.ID, 1), "id", itself),
		"terminal from the start": func(c map[string]any) { honest(c); c["status"], c["payload"], c["failure"] = "FAILED", nil, "etl_x" },
	} {
		storetest.RequireSQLState(t, "23001", w.insertReplay(lie))
		require.Equal(t, 5, w.Count("etl_job_records"), name)
	}
	require.NoError(t, w.insertReplay(honest))
	require.NoError(t, w.insertReplay(of(first.Job.ID, root.ID, 2)))
}

func TestPlainSQLCannotInsertReplayWithImpossibleFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The trigger would refuse these first; the checks stand on their own, for a writer who switches triggers off.
	w.MustExec("ALTER TABLE etl_job_records DISABLE TRIGGER etl_job_records_replay_lineage_is_true")
	root := w.FailedJob()
	itself := uuid.New()
	for _, lie := range []func(map[string]any){
		func(c map[string]any) { c["source"] = root.ID },
		func(c map[string]any) { c["source"], c["root"], c["generation"] = root.ID, root.ID, nil },
		func(c map[string]any) { c["source"], c["root"], c["generation"] = root.ID, root.ID, 0 },
		func(c map[string]any) { c["source"], c["root"], c["generation"] = root.ID, root.ID, 101 },
		func(c map[string]any) { c["id"], c["source"], c["root"] = itself, itself, root.ID },
		func(c map[string]any) { c["id"], c["source"], c["root"] = itself, root.ID, itself },
	} {
		storetest.RequireSQLState(t, "23514", w.insertReplay(lie))
	}
	for _, lie := range []func(map[string]any){
		func(c map[string]any) { c["source"], c["root"] = uuid.New(), root.ID },
		func(c map[string]any) { c["source"], c["root"] = root.ID, uuid.New() },
		func(c map[string]any) { c["source"], c["root"], c["owner"] = root.ID, root.ID, make([]byte, 32) },
	} {
		storetest.RequireSQLState(t, "23503", w.insertReplay(lie))
	}
}

func TestPlainSQLCannotDeleteJobUnderDescendantOrLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	succeeded := w.SucceededJob()
	root := w.FailedJob()
	first, err := w.Replay(root, "first")
	require.NoError(t, err)
	_, err = w.Cancel(first.Job, "k")
	require.NoError(t, err)
	_, err = w.Replay(first.Job, "second")
	require.NoError(t, err)
	for _, id := range []uuid.UUID{root.ID, first.Job.ID, succeeded.ID} {
		storetest.RequireStillReferenced(t, w.Exec("DELETE FROM etl_job_records WHERE job_record_id = $1", id))
	}
	require.Equal(t, 4, w.Count("etl_job_records"))
}

func TestPlainSQLCannotUseKeyTwiceOrLedgerTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.SucceededJob()
	storetest.RequireSQLState(t, "23505", w.Exec(`INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash,
			request_digest, request_payload, record_count)
		SELECT principal_scope_hash, gen_random_uuid(), submission_key_hash, request_digest, '[]', 0
		FROM etl_job_records WHERE job_record_id = $1`, j.ID))
	storetest.RequireSQLState(t, "23505", w.Exec(`INSERT INTO etl_idempotency_records SELECT * FROM etl_idempotency_records`))
	storetest.RequireSQLState(t, "23505", w.Exec(`INSERT INTO processed_data SELECT * FROM processed_data`))
}
