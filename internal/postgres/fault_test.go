package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// raising is a load that fails with the SQLSTATE that its first record names.
const raising = `SELECT pg_temp_raise(@records::jsonb -> 0 ->> 'id')`

const raiseFunction = `CREATE FUNCTION pg_temp_raise(state text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING ERRCODE = state, MESSAGE = 'secret', CONSTRAINT = 'prices_key'; END $$`

// submitBatch makes a PENDING job of a batch.
func submitBatch(w *storetest.World, batch string) {
	w.Helper()
	_, err := w.Service.Submit(w.Context(), w.Owner, storetest.Key(w, uuid.NewString()), []byte(batch))
	require.NoError(w, err)
}

// executionError executes a batch and returns why that failed.
func executionError(w *storetest.World, batch string) (worker.Lease, *worker.LoadError) {
	w.Helper()
	submitBatch(w, batch)
	lease := w.Claim()
	var failure *worker.LoadError
	require.ErrorAs(w, w.Store.Execute(w.Context(), lease), &failure)
	require.NotContains(w, failure.Error(), "secret")
	return lease, failure
}

func TestSQLStateSaysWhoseFaultAFailureIs(t *testing.T) {
	t.Parallel()
	w := storetest.New(t, storetest.WithLoad(t, raising))
	w.MustExec(raiseFunction)
	for fault, states := range map[worker.Fault][]string{
		worker.FaultOfJob:   {"21000", "22P02", "23505", "23514", "44000", "54000", "P0001", "P0002"},
		worker.FaultPassing: {"08006", "25P03", "25P04", "25006", "40001", "40P01", "53300", "55P03", "57014", "58030"},
		worker.FaultOfLoad: {
			"42P01", "42703", "42501", "28000", "3D000", "3F000", "0A000", "2F003", "38000", "39000", "F0000", "HV000", "55000", "XX000", "72000",
		},
	} {
		for _, state := range states {
			_, failure := executionError(w, fmt.Sprintf(`[{"id":%q}]`, state))
			require.Equal(t, fault, failure.Fault, state)
			require.Equal(t, state, failure.SQLState)
			require.Equal(t, "prices_key", failure.Constraint)
		}
	}
}

// prices is a table with a key, and pricesLoad what loads records into it.
const (
	prices     = `CREATE TABLE prices (item text PRIMARY KEY, price integer CHECK (price < 100))`
	pricesLoad = `INSERT INTO prices SELECT r.id, r.price FROM jsonb_to_recordset(@records::jsonb) AS r (id text, price integer)`
)

func pricesWorld(t *testing.T, load string, options ...storetest.Option) *storetest.World {
	t.Helper()
	w := storetest.New(t, append(options, storetest.WithLoad(t, load))...)
	w.MustExec(prices)
	w.MustExec("GRANT SELECT, INSERT, UPDATE ON prices TO PUBLIC")
	return w
}

// batchOf is a batch of so many records, in which some have a price of their own.
func batchOf(records int, price map[int]string) string {
	all := make([]string, records)
	for i := range all {
		all[i] = fmt.Sprintf(`{"id":"%d","price":1}`, i+1)
		if own, has := price[i+1]; has {
			all[i] = fmt.Sprintf(`{"id":"%d","price":%s}`, i+1, own)
		}
	}
	return "[" + strings.Join(all, ",") + "]"
}

func TestFirstRecordAtFaultIsFoundAndNothingRemains(t *testing.T) {
	t.Parallel()
	w := pricesWorld(t, pricesLoad)
	for _, at := range []int{1, 2, 500, 731, 999, 1000} {
		lease, failure := executionError(w, batchOf(1000, map[int]string{at: "100", 1000: "100"}))
		require.Equal(t, "23514", failure.SQLState)
		require.Equal(t, at, w.Store.Explain(t.Context(), lease, failure.SQLState))
		require.Zero(t, w.Count("prices"))
		require.NoError(t, w.Store.Fail(t.Context(), lease, failure.Failure))
	}
}

func TestConstraintThatIsCheckedAtTheCommitIsExplained(t *testing.T) {
	t.Parallel()
	w := pricesWorld(t, pricesLoad)
	w.MustExec("ALTER TABLE prices DROP CONSTRAINT prices_pkey, ADD UNIQUE (item) DEFERRABLE INITIALLY DEFERRED")
	lease, failure := executionError(w, `[{"id":"a"},{"id":"b"},{"id":"a"},{"id":"c"}]`)
	require.Equal(t, "23505", failure.SQLState)
	require.Equal(t, 3, w.Store.Explain(t.Context(), lease, failure.SQLState))
}

func TestWhatIsNotInTheRecordsIsNotExplained(t *testing.T) {
	t.Parallel()
	w := storetest.New(t, storetest.WithLoad(t, `SELECT 1 / (jsonb_array_length(@records::jsonb) * 0)`))
	lease, failure := executionError(w, `[{"id":"a"},{"id":"b"}]`)
	require.Equal(t, "22012", failure.SQLState)
	require.Zero(t, w.Store.Explain(t.Context(), lease, failure.SQLState), "it fails without any record")
	require.Zero(t, w.Store.Explain(t.Context(), lease, "23505"), "it fails with another code")
}

func TestOtherFailuresOnTheWayEndTheSearch(t *testing.T) {
	t.Parallel()
	w := pricesWorld(t, pricesLoad)
	lease, failure := executionError(w, batchOf(8, map[int]string{2: `"x"`, 6: "100"}))
	require.Equal(t, "22P02", failure.SQLState)
	require.Zero(t, w.Store.Explain(t.Context(), lease, "23514"))
}

func TestPayloadThatIsGoneIsNotExplained(t *testing.T) {
	t.Parallel()
	w := pricesWorld(t, pricesLoad)
	j := w.SubmitLong()
	lease := w.Claim()
	_, err := w.Cancel(j, "cancel")
	require.NoError(t, err)
	require.Zero(t, w.Store.Explain(t.Context(), lease, "23514"))
}

func TestOwnerSeesWhyAJobFailedAndNamesOnlyWhereTheyMayBeTold(t *testing.T) {
	t.Parallel()
	for told, constraint := range map[bool]string{false: "", true: "prices_price_check"} {
		w := pricesWorld(t, pricesLoad, func(c *postgres.Config) { c.ExplainNames = told })
		lease, failure := executionError(w, batchOf(3, map[int]string{2: "100"}))
		failure.RecordOrdinal = w.Store.Explain(t.Context(), lease, failure.SQLState)
		require.NoError(t, w.Store.Fail(t.Context(), lease, failure.Failure))
		j := w.Get(lease.JobID)
		require.Equal(t, "23514", j.FailureSQLState)
		require.Equal(t, "check_violation", j.FailureCondition())
		require.Equal(t, 2, j.FailureRecordOrdinal)
		require.Equal(t, constraint, j.FailureConstraint)
		require.False(t, j.AttemptStartedAt.IsZero())
	}
}

func TestTargetThatIsAlteredUnderItsLoadFailsNoJob(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"a column more": "ALTER TABLE prices ADD COLUMN note text",
		"a wider one":   "ALTER TABLE prices ALTER COLUMN price TYPE bigint",
		"one less":      "ALTER TABLE prices DROP COLUMN price CASCADE, ADD COLUMN price integer",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pricesWorld(t, pricesLoad+" RETURNING *")
			for i := range 6 {
				submitBatch(w, fmt.Sprintf(`[{"id":"%d","price":1}]`, i))
				require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
				if i == 2 {
					w.MustExec(change)
				}
			}
			require.Equal(t, 6, w.Count("prices"))
		})
	}
}

func TestStatementThatAPoolerLosesEachTimeIsTheLoadsFault(t *testing.T) {
	t.Parallel()
	w := storetest.New(t, storetest.WithLoad(t, raising))
	w.MustExec(raiseFunction)
	_, failure := executionError(w, `[{"id":"26000"}]`)
	require.Equal(t, worker.FaultOfLoad, failure.Fault)
}

func TestLoadFindsNothingOfAnEarlierOneInItsSession(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	loads, err := db.OpenLoads(t.Context(), pgtest.Direct(w.URL), 1) // a pooler in transaction mode would give each statement another session
	require.NoError(t, err)
	t.Cleanup(loads.Close)
	load, err := postgres.NewLoad(`SELECT leave_behind(@records::jsonb)`)
	require.NoError(t, err)
	w.Config.Load, w.Config.Loads = load, loads
	w = w.On(w.StorePool)
	w.MustExec(`CREATE FUNCTION leave_behind(records jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			IF current_setting('fencepost.left', true) = 'here' OR pg_try_advisory_lock(7) AND pg_advisory_unlock(7) IS NOT TRUE THEN
				RAISE EXCEPTION 'found something';
			END IF;
			CREATE TEMPORARY TABLE left_behind (n integer);
			PERFORM set_config('fencepost.left', 'here', false), pg_advisory_lock(7);
			EXECUTE 'PREPARE left_behind AS SELECT 1';
		END $$`)
	w.MustExec("GRANT TEMPORARY ON DATABASE " + w.Pool.Config().ConnConfig.Database + " TO PUBLIC")
	for range 3 {
		w.Submit()
		require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
	}
}

func TestAttemptsThatDidNotEndTheirJobAreKept(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	j := w.Submit()
	retried := w.Claim()
	require.NoError(t, w.Store.Retry(t.Context(), retried, worker.Return{Outcome: job.AttemptRetried, SQLState: "40001"}))
	returned := w.Claim()
	require.Equal(t, 1, returned.Faults)
	require.NoError(t, w.Store.Retry(t.Context(), returned, worker.Return{Outcome: job.AttemptLoadClosed, SQLState: "42P01"}))
	lost := w.Claim()
	require.Equal(t, 1, lost.Faults, "a closed load is no fault of the job")
	w.Expire(j.ID)
	last := w.Claim()
	require.Equal(t, 2, last.Faults)
	require.NoError(t, w.Store.RefusedLate(t.Context(), lost))
	require.NoError(t, w.Store.RefusedLate(t.Context(), lost), "twice is once")
	require.NoError(t, w.Store.RefusedLate(t.Context(), last), "the live lease is not refused")
	require.NoError(t, w.Store.Execute(t.Context(), last))

	attempts, err := w.Store.Attempts(t.Context(), w.Owner, []uuid.UUID{j.ID, uuid.Max}, job.AttemptsAfter{Limit: 10})
	require.NoError(t, err)
	var told []string
	for _, a := range attempts[j.ID] {
		require.False(t, a.EndedAt.Before(a.StartedAt))
		require.Equal(t, time.UTC, a.StartedAt.Location())
		told = append(told, fmt.Sprint(a.Number, " ", a.Outcome, " ", a.SQLState))
	}
	require.Equal(t, []string{"1 retried 40001", "2 load_closed 42P01", "3 lease_lost ", "3 refused_late "}, told)
	require.Len(t, attempts, 1)
	foreign, err := w.Store.Attempts(t.Context(), job.OwnerOf("owner b"), []uuid.UUID{j.ID}, job.AttemptsAfter{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, foreign)
	storetest.RequireSQLState(t, "23001", w.Exec("UPDATE etl_job_attempts SET sql_state = NULL"))
}

func TestJobThatSucceedsAtOnceWritesNoAttempt(t *testing.T) {
	t.Parallel()
	storetest.ForEachExecution(t, func(w *storetest.World) {
		w.SucceededJob()
		require.Zero(w, w.Count("etl_job_attempts"))
	})
}

func TestWorkerThatComesBackAfterACancellationIsWrittenDown(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	j, lease := w.RunningJob()
	_, err := w.Cancel(j, "cancel")
	require.NoError(t, err)
	require.ErrorIs(t, w.Store.Execute(t.Context(), lease), worker.ErrStale)
	require.NoError(t, w.Store.RefusedLate(t.Context(), lease))
	attempts, err := w.Store.Attempts(t.Context(), w.Owner, []uuid.UUID{j.ID}, job.AttemptsAfter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, attempts[j.ID], 1)
	require.Equal(t, job.AttemptRefusedLate, attempts[j.ID][0].Outcome)
}

func TestAttemptsComeInPagesByNumberAndThenByOutcome(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	j, other := w.Submit(), w.Submit()
	w.MustExec(`INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number, attempt_outcome, started_at)
		SELECT principal_scope_hash, job_record_id, number, outcome, created_at
		FROM etl_job_records, (VALUES (2, 'refused_late'), (10, 'retried'), (1, 'retried'), (2, 'lease_lost')) AS attempt (number, outcome)`)
	var told []string
	after := job.AttemptsAfter{Limit: 1}
	for {
		page, err := w.Store.Attempts(t.Context(), w.Owner, []uuid.UUID{j.ID, other.ID}, after)
		require.NoError(t, err)
		require.Len(t, page[other.ID], len(page[j.ID]))
		if len(page[j.ID]) == 0 {
			break
		}
		last := page[j.ID][0]
		told = append(told, fmt.Sprint(last.Number, " ", last.Outcome))
		after.Number, after.Outcome = last.Number, last.Outcome
	}
	require.Equal(t, []string{"1 retried", "2 lease_lost", "2 refused_late", "10 retried"}, told)
}
