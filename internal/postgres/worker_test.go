package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

func TestClaimTakesTheOldestDueJobsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, third := w.Submit(), w.Submit(), w.Submit()
	w.MustExec("UPDATE etl_job_records SET next_attempt_at = clock_timestamp() + interval '1 hour' WHERE job_record_id = $1", second.ID)
	claimed := w.ClaimAll(10)
	require.ElementsMatch(t, []uuid.UUID{first.ID, third.ID}, storetest.LeasedIDs(claimed))
	require.Empty(t, w.ClaimAll(10))

	w.MustExec("UPDATE etl_job_records SET next_attempt_at = clock_timestamp() - interval '1 hour' WHERE job_record_id = $1", second.ID)
	lease := w.Claim()
	require.Equal(t, second.ID, lease.JobID)
	require.Equal(t, 1, lease.Attempt)
	require.InDelta(t, time.Hour, lease.Waited, float64(time.Minute))
	require.Equal(t, job.StatusRunning, w.Get(second.ID).Status)
}

func TestClaimTakesJobsWhoseLeaseExpired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expired, old := w.RunningJob()
	w.Expire(expired.ID)
	lease := w.Claim()
	require.Equal(t, expired.ID, lease.JobID)
	require.NotEqual(t, old.ClaimID, lease.ClaimID)
	require.Equal(t, 2, lease.Attempt)
}

func TestClaimSkipsRowsHeldByOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held, free := w.Submit(), w.Submit()
	_, err := w.Begin().Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", held.ID)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{free.ID}, storetest.LeasedIDs(w.ClaimAll(10)))
}

func TestClaimFailsJobsWhoseAttemptsAreUsedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	running, _ := w.RunningJob()
	for range storetest.MaxAttempts - 1 {
		w.Expire(running.ID)
		w.Claim()
	}
	w.Expire(running.ID)
	pending := w.Submit()
	w.MustExec("UPDATE etl_job_records SET attempt_count = $2, fault_count = $2 WHERE job_record_id = $1", pending.ID, storetest.MaxAttempts)
	claimed := w.ClaimAll(10)
	require.Empty(t, claimed.Leases)
	require.Len(t, claimed.Exhausted, 2)
	for _, id := range []uuid.UUID{running.ID, pending.ID} {
		j := w.Get(id)
		require.Equal(t, job.StatusFailed, j.Status)
		require.Equal(t, job.FailureAttemptsExhausted, j.FailureCode)
		require.Equal(t, storetest.MaxAttempts, j.AttemptCount)
		w.RequireNoEffects(id)
	}
}

func TestExecutingLoadsEveryRecordInOrderWithTrimmedIDs(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		accepted, err := w.Service.Submit(w.Context(), w.Owner, storetest.Key(w, "k"), []byte("[{\"id\":\"\\u3000 b\\t\"},{\"id\":\"a\",\"x\":[1]}]"))
		require.NoError(w, err)
		require.NoError(w, w.Store.Execute(w.Context(), w.Claim()))
		j := w.Get(accepted.Job.ID)
		require.Equal(w, job.StatusSucceeded, j.Status)
		require.Equal(w, 1, w.Count(`processed_data WHERE record_ordinal = 1 AND record_id = 'b' AND principal_scope_hash = $1`, w.Owner[:]))
		require.Equal(w, 1, w.Count(`processed_data WHERE record_ordinal = 2 AND record_id = 'a' AND record_body = '{"id":"a","x":[1]}'`))
		require.Equal(w, 1, w.Count(`etl_idempotency_records AS l JOIN etl_job_records AS j USING (principal_scope_hash, job_record_id)
			WHERE l.request_digest = j.request_digest AND l.record_count = j.record_count AND j.request_payload IS NULL`))
	})
}

func TestExecutingAnEmptyBatchSucceeds(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		accepted, err := w.Service.Submit(w.Context(), w.Owner, storetest.Key(w, "k"), []byte(`[]`))
		require.NoError(w, err)
		require.NoError(w, w.Store.Execute(w.Context(), w.Claim()))
		require.Equal(w, job.StatusSucceeded, w.Get(accepted.Job.ID).Status)
	})
}

func TestSecondExecutionUnderTheSameLeaseIsStale(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.RunningJob()
		require.NoError(w, w.Store.Execute(w.Context(), lease))
		require.Error(w, w.Store.Execute(w.Context(), lease), "it loads before it meets the fence")
		require.ErrorIs(w, w.Store.Fail(w.Context(), lease, worker.Failure{Code: job.FailureTarget}), worker.ErrStale)
		w.RequireEffectsOnce(j.ID)
	})
}

func TestLedgerRowMakesSecondExecutionFailItsIntegrity(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.RunningJob()
		w.MustExec(`INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
			SELECT principal_scope_hash, job_record_id, request_digest, record_count FROM etl_job_records`)
		storetest.RequireLoadError(w, job.FailureIntegrity, false, w.Store.Execute(w.Context(), lease))
		require.Zero(w, w.Count("processed_data WHERE job_record_id = $1", j.ID))
	})
}

func TestPayloadWithoutItsDigestFailsItsIntegrity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, j := range []job.Job{w.Submit(), w.SubmitLong()} {
		w.MustExec("UPDATE etl_job_records SET request_payload = request_payload || ' ' WHERE job_record_id = $1", j.ID)
		storetest.RequireLoadError(t, job.FailureIntegrity, false, w.Store.Execute(t.Context(), w.Claim()))
		w.RequireNoEffects(j.ID)
	}
}

func TestOnlyShortPayloadComesWithItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Submit()
	require.Equal(t, storetest.Batch, w.Claim().Payload)
	long := w.SubmitLong()
	lease := w.Claim()
	require.Nil(t, lease.Payload)
	require.NoError(t, w.Store.Execute(t.Context(), lease))
	require.Equal(t, 1, w.Count(`processed_data WHERE job_record_id = $1 AND
		length(record_body ->> 'text') = $2`, long.ID, storetest.MaxClaimedPayload))
}

func TestLoadErrorsMapToClosedFailureCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		load      string
		code      job.FailureCode
		transient bool
	}{
		"constraint":        {`INSERT INTO processed_data SELECT @owner::bytea, @job_record_id::uuid, 0, '', @records::jsonb`, job.FailureTarget, false},
		"type":              {`SELECT (r ->> 'id')::integer FROM jsonb_array_elements(@records) AS r`, job.FailureTarget, false},
		"absent table":      {`INSERT INTO absent SELECT @records`, job.FailureTarget, false},
		"several commands":  {`SELECT @records::jsonb; SELECT 2`, job.FailureTarget, false},
		"deferred":          {`INSERT INTO deferred SELECT 1 FROM jsonb_array_elements(@records::jsonb)`, job.FailureTarget, false},
		"statement timeout": {`SELECT raise('57014'), @records::jsonb`, job.FailureTargetUnavailable, true},
		"serialization":     {`SELECT raise('40001'), @records::jsonb`, job.FailureTargetUnavailable, true},
		"deadlock":          {`SELECT raise('40P01'), @records::jsonb`, job.FailureTargetUnavailable, true},
		"lock timeout":      {`SELECT raise('55P03'), @records::jsonb`, job.FailureTargetUnavailable, true},
		"disk full":         {`SELECT raise('53100'), @records::jsonb`, job.FailureTargetUnavailable, true},
		"foreign server":    {`SELECT raise('08001'), @records::jsonb`, job.FailureTargetUnavailable, true},
		"permission":        {`SELECT raise('42501'), @records::jsonb`, job.FailureTarget, false},
		"commit":            {`CALL commit_by_itself(@records::jsonb)`, job.FailureTarget, false},
		"ended connection":  {`SELECT end_connection(), @records::jsonb`, job.FailureTargetUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, storetest.WithLoad(t, c.load))
			w.MustExec(`CREATE FUNCTION raise(code text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = code; END $$`)
			w.MustExec(`CREATE PROCEDURE commit_by_itself(records jsonb) LANGUAGE plpgsql AS $$
				BEGIN INSERT INTO processed_data SELECT sha256(''), gen_random_uuid(), 1, '', '{}'; COMMIT; END $$`)
			w.MustExec(`CREATE FUNCTION end_connection() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS 'SELECT pg_terminate_backend(pg_backend_pid())'`)
			w.MustExec(`CREATE TABLE deferred (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED); GRANT INSERT ON deferred TO PUBLIC`)
			j, lease := w.RunningJob()
			storetest.RequireLoadError(t, c.code, c.transient, w.Store.Execute(t.Context(), lease))
			require.Equal(t, job.StatusRunning, w.Get(j.ID).Status)
			w.RequireNoEffects(j.ID)
			require.Zero(t, w.Count("processed_data"))
		})
	}
}

func TestErrorOfTheWorkerItselfIsInternal(t *testing.T) {
	t.Parallel()
	storetest.RequireLoadError(t, job.FailureInternal, false, postgres.LoadError(errors.New("bug")))
}

func TestCancelledContextStopsTheLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.GatedLoad(t))
	j, lease := w.RunningJob()
	open := w.CloseGate()
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	execution := storetest.Async(func() (struct{}, error) { return struct{}{}, w.Store.Execute(ctx, lease) })
	w.WaitForLock()
	stop()
	storetest.RequireLoadError(t, job.FailureTargetUnavailable, true, (<-execution).Err)
	w.WaitForLocks(0)
	open()
	w.RequireNoEffects(j.ID)
}

func TestOperatorsLoadGetsRecordsJobAndOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLoad(t, `INSERT INTO target (job, owner, name, amount)
		SELECT @job_record_id, @owner, r.id, r.amount FROM jsonb_to_recordset(@records) AS r (id text, amount integer)`))
	w.MustExec("CREATE TABLE target (job uuid, owner bytea, name text, amount integer); GRANT INSERT ON target TO PUBLIC")
	j := w.SucceededJob()
	require.Equal(t, 2, w.Count("target WHERE job = $1 AND owner = $2", j.ID, w.Owner[:]))
	require.Equal(t, 1, w.Count("target WHERE name = 'beta' AND amount = 2"))
	require.Zero(t, w.Count("processed_data"))
}

func TestTextThatLoadsNoRecordsIsNoLoad(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                         postgres.ErrLoadRecords,
		"\n":                       postgres.ErrLoadRecords,
		";":                        postgres.ErrLoadRecords,
		"-- nothing":               postgres.ErrLoadRecords,
		"-- @records":              postgres.ErrLoadRecords,
		"SELECT '@records'":        postgres.ErrLoadRecords,
		"SELECT @owner":            postgres.ErrLoadRecords,
		"SET work_mem = '1GB'":     postgres.ErrLoadRecords,
		"BEGIN":                    postgres.ErrLoadRecords,
		"COPY prices FROM STDIN":   postgres.ErrLoadRecords,
		"SELECT @recrods":          postgres.ErrLoadArguments,
		"SELECT @records, @rows":   postgres.ErrLoadArguments,
		"SELECT @records, $1":      postgres.ErrLoadArguments,
		"SELECT @records":          nil,
		"\uFEFFSELECT @records":    nil,
		"SELECT @records, '$1 @x'": nil,
	} {
		_, err := postgres.NewLoad(text)
		require.ErrorIs(t, err, want, "%q", text)
	}
}

func TestByteOrderMarkInFrontOfALoadIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLoad(t, "\uFEFFSELECT @records::jsonb"))
	w.Submit()
	require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
}

func TestRetryGivesTheJobBackAfterTheDelay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.RunningJob()
	require.NoError(t, w.Store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried, Delay: time.Hour}))
	require.Equal(t, job.StatusPending, w.Get(j.ID).Status)
	require.Equal(t, 1, w.Get(j.ID).AttemptCount)
	require.Empty(t, w.ClaimAll(10))
	require.Equal(t, 1, w.Count(`etl_job_records WHERE next_attempt_at BETWEEN clock_timestamp() + interval '59 minutes' AND
		clock_timestamp() + interval '1 hour' AND request_payload IS NOT NULL`))
	require.ErrorIs(t, w.Store.Retry(t.Context(), lease, worker.Return{Outcome: job.AttemptRetried}), worker.ErrStale)
}

func TestFailingEndsTheJobWithItsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, lease := w.RunningJob()
	require.NoError(t, w.Store.Fail(t.Context(), lease, worker.Failure{Code: job.FailureTarget}))
	got := w.Get(j.ID)
	require.Equal(t, job.StatusFailed, got.Status)
	require.Equal(t, job.FailureTarget, got.FailureCode)
	require.ErrorIs(t, w.Store.Fail(t.Context(), lease, worker.Failure{Code: job.FailureTarget}), worker.ErrStale)
}

func TestVerdictsUnderExpiredLeaseAreStale(t *testing.T) {
	t.Parallel()
	forEachExecution(t, func(w *world) {
		j, lease := w.RunningJob()
		w.Expire(j.ID)
		require.ErrorIs(w, w.Store.Execute(w.Context(), lease), worker.ErrStale)
		require.ErrorIs(w, w.Store.Retry(w.Context(), lease, worker.Return{Outcome: job.AttemptRetried}), worker.ErrStale)
		require.ErrorIs(w, w.Store.Fail(w.Context(), lease, worker.Failure{Code: job.FailureTarget}), worker.ErrStale)
		require.Equal(w, job.StatusRunning, w.Get(j.ID).Status)
	})
}
