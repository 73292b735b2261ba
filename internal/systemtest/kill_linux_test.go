package systemtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/faultproxy"
	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

// What the statements of a worker and of the writes have in them, and no other statement.
const (
	claimStatement   = "FOR UPDATE SKIP LOCKED"
	loadStatement    = "INSERT INTO processed_data"
	successStatement = "SET job_status = 'SUCCEEDED'"
	insertStatement  = "INSERT INTO etl_job_records"
	cancelStatement  = "SET job_status = 'CANCELLED'"
)

// onlyJob reads the one job of a database.
func onlyJob(t *testing.T, url string) (status string, attempts int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT job_status, attempt_count FROM etl_job_records`).Scan(&status, &attempts))
	return status, attempts
}

func TestWorkerKilledAtEachStepLeavesItsJobToAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step     faultproxy.Step
		sql      string
		status   string
		attempts int
	}{
		"before the claim":              {faultproxy.BeforeCommit, claimStatement, "PENDING", 0},
		"between claim and its answer":  {faultproxy.AfterCommit, claimStatement, "RUNNING", 1},
		"before the load":               {faultproxy.BeforeStatement, loadStatement, "RUNNING", 1},
		"between commit and its answer": {faultproxy.AfterCommit, successStatement, "SUCCEEDED", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			proxy := faultproxy.Start(t, url)
			job := serve(t, url, withoutWorkers).Submit(t, "one")
			hold := proxy.Hold(c.step, c.sql)
			victim := workProcess(t, proxy.URL())
			hold.Wait(t)
			kill(t, victim)
			hold.Cut(t)
			expireLeases(t, url)
			status, attempts := onlyJob(t, url)
			require.Equal(t, c.status, status)
			require.Equal(t, c.attempts, attempts)
			require.Empty(t, pgtest.WrongRows(t, url), "the rows that are wrong")

			workProcess(t, url)
			requireSuccess(t, job)
			require.Empty(t, pgtest.WrongRows(t, url), "the rows that are wrong")
		})
	}
}

// gatedLoad is the built-in load, which then waits for a lock that the test holds.
const gatedLoad = `
WITH loaded AS (
	INSERT INTO processed_data
	SELECT @owner::bytea, @job_record_id::uuid, ordinal, record ->> 'id', record
	FROM jsonb_array_elements(@records::jsonb) WITH ORDINALITY AS element (record, ordinal)
	RETURNING 1
)
SELECT pg_advisory_xact_lock_shared(%d) FROM loaded`

// PostgreSQL does not notice that its client is dead, and finishes what it was sent: under a lease that has ended, nothing.
func TestWorkerKilledInItsLoadLeavesNothingOnceItsLeaseHasEnded(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	g := pgtest.NewGate(t, url)
	require.NoError(t, os.WriteFile(g.LoadFile, fmt.Appendf(nil, gatedLoad, pgtest.GateNumber), 0o600))
	job := serve(t, url, withoutWorkers).Submit(t, "one")
	victim := workProcess(t, url, "--load-sql-file", g.LoadFile)
	g.RequireWaiting(t)
	kill(t, victim)
	expireLeases(t, url)
	g.Open(t)
	require.Equal(t, "RUNNING", g.Status(t))
	require.Empty(t, pgtest.WrongRows(t, url), "the rows that are wrong")

	workProcess(t, url, "--load-sql-file", g.LoadFile)
	requireSuccess(t, job)
	_, attempts := onlyJob(t, url)
	require.Equal(t, 2, attempts)
	require.Empty(t, pgtest.WrongRows(t, url), "the rows that are wrong")
}

// victim is a server in a process of its own, behind a proxy, and what it is killed for.
type victim struct {
	cmd   *exec.Cmd
	p     servertest.Announcement
	proxy *faultproxy.Proxy
}

func startVictim(t *testing.T, url string) victim {
	t.Helper()
	proxy := faultproxy.Start(t, url)
	cmd, p := spawn(t, "--database-url", proxy.URL(), "--users-file", servertest.UsersFile(t, name, password), "--workers=0")
	return victim{cmd, p, proxy}
}

// killAt sends a request, and kills the server when its statement has come to a step. The client gets no answer.
func (v victim) killAt(t *testing.T, step faultproxy.Step, sql, path, body string) {
	t.Helper()
	hold := v.proxy.Hold(step, sql)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.p.API+path, strings.NewReader(body))
	require.NoError(t, err)
	request.SetBasicAuth(name, password)
	request.Header.Set("Idempotency-Key", "key")
	request.Header.Set("Content-Type", "application/json")
	failed := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(request)
		failed <- err
	}()
	hold.Wait(t)
	kill(t, v.cmd)
	require.Error(t, <-failed)
	hold.Cut(t)
}

func TestServerKilledAtEachStepOfAWriteLeavesItDoneOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	const batch = `[{"id":"a"}]`
	for name, c := range map[string]struct{ sql, path, body string }{
		"submit": {insertStatement, "", batch},
		"cancel": {cancelStatement, "/cancellation", ""},
		"replay": {insertStatement, "/replays", batch},
	} {
		for _, step := range []faultproxy.Step{faultproxy.BeforeCommit, faultproxy.AfterCommit} {
			t.Run(fmt.Sprint(name, " ", step), func(t *testing.T) {
				t.Parallel()
				url := pgtest.URL(t)
				survivor := serve(t, url, withoutWorkers)
				path := "/api/etl/jobs"
				if c.path != "" {
					path = strings.TrimPrefix(survivor.Submit(t, "source"), survivor.API) + c.path
				}
				if name == "replay" {
					source := survivor.API + strings.TrimSuffix(path, c.path)
					require.Equal(t, http.StatusOK, call(t, http.MethodPost, source+"/cancellation", "", "Idempotency-Key", "stop").Status)
				}
				startVictim(t, url).killAt(t, step, c.sql, path, c.body)
				require.Empty(t, pgtest.WrongRows(t, url), "the rows that are wrong")

				before := readBooks(t, url)
				again := call(t, http.MethodPost, survivor.API+path, c.body, "Idempotency-Key", "key")
				require.Less(t, again.Status, 300, "%s", again.Body)
				done := step == faultproxy.AfterCommit
				require.Equal(t, fmt.Sprint(done), again.Header.Get("Idempotency-Replayed"))
				require.Equal(t, done, before == readBooks(t, url), "the call that was killed changed something or nothing")
				require.Empty(t, pgtest.WrongRows(t, url), "the rows that are wrong")
			})
		}
	}
}
