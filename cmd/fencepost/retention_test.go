package main

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/deploy/roles"
	"fencepost/internal/command"
	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

func purgeJobs(t *testing.T, url string, args ...string) outcome {
	t.Helper()
	return invoke(t, env{"FENCEPOST_DATABASE_URL": url}, nil, append([]string{"retention", "purge"}, args...)...)
}

// ageJobs makes all jobs look as if nothing had changed them for two days. No trigger may see that.
func ageJobs(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `SET session_replication_role = replica;
		UPDATE etl_job_records SET updated_at = clock_timestamp() - interval '2 days';
		RESET session_replication_role`)
	require.NoError(t, err)
}

func TestRetentionPurgeRemovesOldJobsBesideARunningServer(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	p := servertest.Serve(t, url)
	retention := pgtest.As(t, url, roles.Retention)
	job := p.Submit(t, "k")
	servertest.RequireSuccess(t, job)
	const old, nothing = "lineages: 1, jobs: 1, ledger rows: 1.\n", "lineages: 0, jobs: 0, ledger rows: 0.\n"
	require.Equal(t, outcome{stdout: "Removed " + nothing}, purgeJobs(t, retention, "--older-than", "1h"))

	ageJobs(t, pgtest.SuperuserPool(t, url))
	require.Equal(t, outcome{stdout: "Removed " + nothing}, purgeJobs(t, retention, "--older-than", "3d"))
	require.Equal(t, outcome{stdout: "Would remove " + old}, purgeJobs(t, retention, "--older-than", "1d", "--dry-run"))
	require.Equal(t, "SUCCEEDED", servertest.Status(t, job))
	require.Equal(t, outcome{stdout: "Removed " + old}, purgeJobs(t, retention, "--older-than", "1d", "--batch-size", "1"))
	require.Equal(t, http.StatusNotFound, servertest.Call(t, http.MethodGet, job, "").Status)
	require.NotEqual(t, job, p.Submit(t, "k"), "its key makes a new job")
}

func TestRetentionPurgeThatIsStoppedTellsWhatItHasRemoved(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	p := servertest.Serve(t, url)
	servertest.RequireSuccess(t, p.Submit(t, "a"))
	servertest.RequireSuccess(t, p.Submit(t, "b"))
	pool := pgtest.SuperuserPool(t, url)
	ageJobs(t, pool)
	_, err := pool.Exec(t.Context(), `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN OLD; END $$;
		CREATE TRIGGER wait BEFORE DELETE ON etl_job_records FOR EACH ROW EXECUTE FUNCTION wait()`)
	require.NoError(t, err)
	holder, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "SELECT pg_advisory_xact_lock(1)")
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, command.Shell{Stdout: &stdout, Stderr: &stderr, LookupEnv: env{}.lookup},
			[]string{"retention", "purge", "--database-url", pgtest.As(t, url, roles.Retention), "--older-than", "1d", "--batch-size", "1"})
	}()
	pgtest.WaitForBlockedBy(t, pool, holder.Conn().PgConn().PID())
	stop()
	require.NoError(t, holder.Commit(t.Context()))
	require.Equal(t, 1, <-ended)
	require.Equal(t, "Removed lineages: 1, jobs: 1, ledger rows: 1.\n", stdout.String())
	require.Contains(t, stderr.String(), "run it again for the rest")
}

func TestRetentionPurgeNeedsAnAgeInRange(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "retention", "purge", "--database-url", unreachable), `"older-than" not set`)
	for _, age := range []string{"59m", "0d", "36501d", "70000d", "d", "1.5d", "-1d", "soon"} {
		message := refused(t, "retention", "purge", "--older-than="+age)
		require.Contains(t, message, "must be from 1h0m0s to 876000h0m0s", age)
	}
}

func TestRetentionPurgeTellsWhatIsWrongWithTheDatabase(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "retention", "purge", "--older-than=1d"), "--database-url or FENCEPOST_DATABASE_URL")
	require.Contains(t, purgeJobs(t, "postgres://user@host:notaport/", "--older-than=1d").stderr, "--database-url")
	require.Contains(t, purgeJobs(t, pgtest.EmptyURL(t), "--older-than=1d").stderr, "fencepost migrate up")
}
