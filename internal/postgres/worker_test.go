package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

func TestClaimTakesTheOldestDueJobsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, third := w.submit(), w.submit(), w.submit()
	w.mustExec("UPDATE etl_job_records SET next_attempt_at = clock_timestamp() + interval '1 hour' WHERE job_record_id = $1", second.ID)
	claimed := w.claimAll(10)
	require.ElementsMatch(t, []uuid.UUID{first.ID, third.ID}, leasedIDs(claimed))
	require.Empty(t, w.claimAll(10))

	w.mustExec("UPDATE etl_job_records SET next_attempt_at = clock_timestamp() - interval '1 hour' WHERE job_record_id = $1", second.ID)
	lease := w.claim()
	require.Equal(t, second.ID, lease.JobID)
	require.Equal(t, 1, lease.Attempt)
	require.InDelta(t, time.Hour, lease.Waited, float64(time.Minute))
	require.Equal(t, job.StatusRunning, w.get(second.ID).Status)
}

func TestClaimTakesJobsWhoseLeaseExpired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expired, old := w.running()
	w.expire(expired.ID)
	lease := w.claim()
	require.Equal(t, expired.ID, lease.JobID)
	require.NotEqual(t, old.ClaimID, lease.ClaimID)
	require.Equal(t, 2, lease.Attempt)
}

func TestClaimSkipsRowsHeldByOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held, free := w.submit(), w.submit()
	_, err := w.begin().Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", held.ID)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{free.ID}, leasedIDs(w.claimAll(10)))
}

func TestClaimFailsJobsWhoseAttemptsAreUsedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	running, _ := w.running()
	for range maxAttempts - 1 {
		w.expire(running.ID)
		w.claim()
	}
	w.expire(running.ID)
	pending := w.submit()
	w.mustExec("UPDATE etl_job_records SET attempt_count = $2 WHERE job_record_id = $1", pending.ID, maxAttempts)
	require.Equal(t, worker.Claimed{Exhausted: 2}, w.claimAll(10))
	for _, id := range []uuid.UUID{running.ID, pending.ID} {
		j := w.get(id)
		require.Equal(t, job.StatusFailed, j.Status)
		require.Equal(t, job.FailureAttemptsExhausted, j.FailureCode)
		require.Equal(t, maxAttempts, j.AttemptCount)
		w.requireNoEffects(id)
	}
}

func leasedIDs(c worker.Claimed) []uuid.UUID {
	var ids []uuid.UUID
	for _, l := range c.Leases {
		ids = append(ids, l.JobID)
	}
	return ids
}

func TestExecutingLoadsEveryRecordInOrderWithTrimmedIDs(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		accepted, err := w.service.Submit(w.Context(), w.owner, key(w, "k"), []byte("[{\"id\":\"\\u3000 b\\t\"},{\"id\":\"a\",\"x\":[1]}]"))
		require.NoError(w, err)
		require.NoError(w, w.store.Execute(w.Context(), w.claim()))
		j := w.get(accepted.Job.ID)
		require.Equal(w, job.StatusSucceeded, j.Status)
		require.Equal(w, 1, w.count(`processed_data WHERE record_ordinal = 1 AND record_id = 'b' AND principal_scope_hash = $1`, w.owner[:]))
		require.Equal(w, 1, w.count(`processed_data WHERE record_ordinal = 2 AND record_id = 'a' AND record_body = '{"id":"a","x":[1]}'`))
		require.Equal(w, 1, w.count(`etl_idempotency_records AS l JOIN etl_job_records AS j USING (principal_scope_hash, job_record_id)
			WHERE l.request_digest = j.request_digest AND l.record_count = j.record_count AND j.request_payload IS NULL`))
	})
}

func TestExecutingAnEmptyBatchSucceeds(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		accepted, err := w.service.Submit(w.Context(), w.owner, key(w, "k"), []byte(`[]`))
		require.NoError(w, err)
		require.NoError(w, w.store.Execute(w.Context(), w.claim()))
		require.Equal(w, job.StatusSucceeded, w.get(accepted.Job.ID).Status)
	})
}

func TestSecondExecutionUnderTheSameLeaseIsStale(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.running()
		require.NoError(w, w.store.Execute(w.Context(), lease))
		require.Error(w, w.store.Execute(w.Context(), lease), "it loads before it meets the fence")
		require.ErrorIs(w, w.store.Fail(w.Context(), lease, job.FailureTarget), worker.ErrStale)
		w.requireEffectsOnce(j.ID)
	})
}

func TestLedgerRowMakesSecondExecutionFailItsIntegrity(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.running()
		w.mustExec(`INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
			SELECT principal_scope_hash, job_record_id, request_digest, record_count FROM etl_job_records`)
		requireLoadError(w, job.FailureIntegrity, false, w.store.Execute(w.Context(), lease))
		require.Zero(w, w.count("processed_data WHERE job_record_id = $1", j.ID))
	})
}

func TestPayloadWithoutItsDigestFailsItsIntegrity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, j := range []job.Job{w.submit(), w.submitLong()} {
		w.mustExec("UPDATE etl_job_records SET request_payload = request_payload || ' ' WHERE job_record_id = $1", j.ID)
		requireLoadError(t, job.FailureIntegrity, false, w.store.Execute(t.Context(), w.claim()))
		w.requireNoEffects(j.ID)
	}
}

func TestOnlyShortPayloadComesWithItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit()
	require.Equal(t, batch, w.claim().Payload)
	long := w.submitLong()
	lease := w.claim()
	require.Nil(t, lease.Payload)
	require.NoError(t, w.store.Execute(t.Context(), lease))
	require.Equal(t, 1, w.count(`processed_data WHERE job_record_id = $1 AND
		length(record_body ->> 'text') = $2`, long.ID, maxClaimedPayload))
}

func TestLoadErrorsMapToClosedFailureCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		load      string
		code      job.FailureCode
		transient bool
	}{
		"constraint":        {`INSERT INTO processed_data SELECT @owner::bytea, @job_record_id::uuid, 0, '', '{}'`, job.FailureTarget, false},
		"type":              {`SELECT (r ->> 'id')::integer FROM jsonb_array_elements(@records) AS r`, job.FailureTarget, false},
		"absent table":      {`INSERT INTO absent SELECT 1`, job.FailureTarget, false},
		"several commands":  {`SELECT 1; SELECT 2`, job.FailureTarget, false},
		"deferred":          {`INSERT INTO deferred VALUES (1), (1)`, job.FailureTarget, false},
		"statement timeout": {`SELECT raise('57014')`, job.FailureTargetUnavailable, true},
		"serialization":     {`SELECT raise('40001')`, job.FailureTargetUnavailable, true},
		"deadlock":          {`SELECT raise('40P01')`, job.FailureTargetUnavailable, true},
		"lock timeout":      {`SELECT raise('55P03')`, job.FailureTargetUnavailable, true},
		"disk full":         {`SELECT raise('53100')`, job.FailureTargetUnavailable, true},
		"foreign server":    {`SELECT raise('08001')`, job.FailureTargetUnavailable, true},
		"permission":        {`SELECT raise('42501')`, job.FailureTarget, false},
		"commit":            {`CALL commit_by_itself()`, job.FailureTarget, false},
		"ended connection":  {`SELECT end_connection()`, job.FailureTargetUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withLoad(t, c.load))
			w.mustExec(`CREATE FUNCTION raise(code text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = code; END $$`)
			w.mustExec(`CREATE PROCEDURE commit_by_itself() LANGUAGE plpgsql AS $$
				BEGIN INSERT INTO processed_data SELECT sha256(''), gen_random_uuid(), 1, '', '{}'; COMMIT; END $$`)
			w.mustExec(`CREATE FUNCTION end_connection() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS 'SELECT pg_terminate_backend(pg_backend_pid())'`)
			w.mustExec(`CREATE TABLE deferred (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED); GRANT INSERT ON deferred TO PUBLIC`)
			j, lease := w.running()
			requireLoadError(t, c.code, c.transient, w.store.Execute(t.Context(), lease))
			require.Equal(t, job.StatusRunning, w.get(j.ID).Status)
			w.requireNoEffects(j.ID)
			require.Zero(t, w.count("processed_data"))
		})
	}
}

// requireLoadError checks a LoadError, and that its text is the code alone.
func requireLoadError(t testing.TB, code job.FailureCode, transient bool, err error) {
	t.Helper()
	var failure *worker.LoadError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, code, failure.Code, errors.Unwrap(failure))
	require.Equal(t, transient, failure.Transient)
	require.Equal(t, string(code), err.Error())
}

func TestErrorOfTheWorkerItselfIsInternal(t *testing.T) {
	t.Parallel()
	requireLoadError(t, job.FailureInternal, false, loadError(errors.New("bug")))
}

func TestCancelledContextStopsTheLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gatedLoad(t))
	j, lease := w.running()
	open := w.closeGate()
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	execution := async(func() (struct{}, error) { return struct{}{}, w.store.Execute(ctx, lease) })
	w.waitForLock()
	stop()
	requireLoadError(t, job.FailureTargetUnavailable, true, (<-execution).err)
	w.waitForLocks(0)
	open()
	w.requireNoEffects(j.ID)
}

func TestOperatorsLoadGetsRecordsJobAndOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLoad(t, `INSERT INTO target (job, owner, name, amount)
		SELECT @job_record_id, @owner, r.id, r.amount FROM jsonb_to_recordset(@records) AS r (id text, amount integer)`))
	w.mustExec("CREATE TABLE target (job uuid, owner bytea, name text, amount integer); GRANT INSERT ON target TO PUBLIC")
	j := w.succeeded()
	require.Equal(t, 2, w.count("target WHERE job = $1 AND owner = $2", j.ID, w.owner[:]))
	require.Equal(t, 1, w.count("target WHERE name = 'beta' AND amount = 2"))
	require.Zero(t, w.count("processed_data"))
}

func TestLoadStatementRefusesUnknownArguments(t *testing.T) {
	t.Parallel()
	_, err := NewLoad("SELECT @recrods")
	require.ErrorContains(t, err, "@records, @job_record_id and @owner")
	_, err = NewLoad("SELECT 1")
	require.NoError(t, err)
}

func TestRetryGivesTheJobBackAfterTheDelay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.running()
	require.NoError(t, w.store.Retry(t.Context(), lease, time.Hour))
	require.Equal(t, job.StatusPending, w.get(j.ID).Status)
	require.Equal(t, 1, w.get(j.ID).AttemptCount)
	require.Empty(t, w.claimAll(10))
	require.Equal(t, 1, w.count(`etl_job_records WHERE next_attempt_at BETWEEN clock_timestamp() + interval '59 minutes' AND
		clock_timestamp() + interval '1 hour' AND request_payload IS NOT NULL`))
	require.ErrorIs(t, w.store.Retry(t.Context(), lease, 0), worker.ErrStale)
}

func TestFailingEndsTheJobWithItsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.running()
	require.NoError(t, w.store.Fail(t.Context(), lease, job.FailureTarget))
	got := w.get(j.ID)
	require.Equal(t, job.StatusFailed, got.Status)
	require.Equal(t, job.FailureTarget, got.FailureCode)
	require.ErrorIs(t, w.store.Fail(t.Context(), lease, job.FailureTarget), worker.ErrStale)
}

func TestVerdictsUnderExpiredLeaseAreStale(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.running()
		w.expire(j.ID)
		require.ErrorIs(w, w.store.Execute(w.Context(), lease), worker.ErrStale)
		require.ErrorIs(w, w.store.Retry(w.Context(), lease, 0), worker.ErrStale)
		require.ErrorIs(w, w.store.Fail(w.Context(), lease, job.FailureTarget), worker.ErrStale)
		require.Equal(w, job.StatusRunning, w.get(j.ID).Status)
	})
}
