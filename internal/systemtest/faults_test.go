package systemtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// workProcess starts "work" as a process of its own, to be killed.
func workProcess(t *testing.T, url string, args ...string) *exec.Cmd {
	t.Helper()
	common := []string{
		"work", "--database-url", url, "--admin-listen", "127.0.0.1:0", "--workers", "4", "--pool-size", "8",
		"--poll-interval", "100ms", "--retry-backoff", "100ms", "--max-attempts", "20", "--log-level", "error",
	}
	cmd := exec.CommandContext(context.Background(), binary(t), append(common, args...)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// kill ends a process as kill -9 does.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

// expireLeases waits until PostgreSQL has given up the transaction of a killed worker, which may hold the row.
func expireLeases(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `UPDATE etl_job_records SET lease_expires_at = clock_timestamp() WHERE job_status = 'RUNNING'`)
	require.NoError(t, err)
}

// books is the balance of a database after faults: which rows are wrong, and how many jobs there are of each kind.
const books = `
SELECT count(*) FILTER (WHERE job_status IN ('PENDING', 'RUNNING')) AS active,
	count(*) FILTER (WHERE job_status = 'SUCCEEDED' AND (effects <> record_count OR ledger <> 1)) AS success_without_its_effects,
	count(*) FILTER (WHERE job_status <> 'SUCCEEDED' AND (effects <> 0 OR ledger <> 0)) AS effects_without_success,
	count(*) FILTER (WHERE job_status = 'SUCCEEDED') AS succeeded,
	count(*) FILTER (WHERE job_status = 'CANCELLED') AS cancelled,
	count(*) AS jobs
FROM (
	SELECT job_status, record_count,
		(SELECT count(*) FROM processed_data WHERE job_record_id = job.job_record_id) AS effects,
		(SELECT count(*) FROM etl_idempotency_records WHERE job_record_id = job.job_record_id) AS ledger
	FROM etl_job_records AS job
) AS job`

type balance struct {
	Active, SuccessWithoutItsEffects, EffectsWithoutSuccess, Succeeded, Cancelled, Jobs int
}

func readBooks(t *testing.T, url string) (b balance) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.Superuser(t, url))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), books)
	require.NoError(t, err)
	b, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[balance])
	require.NoError(t, err)
	return b
}

func TestBooksBalanceAfterKilledWorkersAndCrashedDatabase(t *testing.T) {
	t.Parallel()
	const jobs = 60
	database := pgtest.Server(t)
	load := filepath.Join(t.TempDir(), "load.sql")
	require.NoError(t, os.WriteFile(load, []byte(`
		INSERT INTO processed_data
		SELECT @owner::bytea, @job_record_id::uuid, ordinal, record ->> 'id', record
		FROM jsonb_array_elements(@records::jsonb) WITH ORDINALITY AS element (record, ordinal), pg_sleep(0.02)`), 0o600))
	work := func() *exec.Cmd {
		return workProcess(t, database.URL(), "--lease-duration", "1h", "--load-sql-file", load)
	}
	p := serve(t, database.URL(), withoutWorkers)
	urls := make([]string, jobs)
	for i := range urls {
		urls[i] = p.Submit(t, fmt.Sprint("job-", i))
	}
	cancel := func(i int) int {
		return call(t, http.MethodPost, urls[i]+"/cancellation", "", "Idempotency-Key", "stop").Status
	}
	won := 0
	count := func(status int) {
		if status == http.StatusOK {
			won++
		}
	}

	victim, survivor := work(), work()
	pgtest.Eventually(t, "the first successes", func() bool { return readBooks(t, database.URL()).Succeeded > 3 })
	kill(t, victim) // in the middle of up to four jobs
	expireLeases(t, database.URL())
	for i := jobs - 1; i > jobs-6; i-- {
		count(cancel(i))
	}
	database.Crash(t)
	require.Equal(t, http.StatusServiceUnavailable, cancel(20))
	database.Start(t)
	count(cancel(20))
	kill(t, survivor)
	expireLeases(t, database.URL())
	work()
	for i := 21; i < 26; i++ {
		count(cancel(i))
	}

	pgtest.Eventually(t, "all jobs to end", func() bool { return readBooks(t, database.URL()).Active == 0 })
	b := readBooks(t, database.URL())
	require.Equal(t, balance{Succeeded: jobs - won, Cancelled: won, Jobs: jobs}, b)
	require.Positive(t, won)
	for _, url := range urls {
		require.Contains(t, []string{"SUCCEEDED", "CANCELLED"}, status(t, url), "every acknowledged job is there and has ended")
	}
}
