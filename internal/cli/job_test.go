package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/internal/command"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/server"
	"fencepost/internal/servertest"
	"fencepost/jobtype"
)

func TestJobIsSubmittedWatchedAndShown(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t))
	id := p.id(t, "submit", ordersFile(t))
	lines := strings.Split(strings.TrimSpace(p.prints(t, "watch", id)), "\n")
	require.Contains(t, lines[len(lines)-1], "SUCCEEDED, attempts: 1")

	require.Equal(t, jobtype.StatusSucceeded, parseJob(t, p.prints(t, "get", id, "--output", "json")).Status)
	table := p.prints(t, "get", id)
	require.Regexp(t, `^JOB +STATUS +ATTEMPTS +RECORDS +GENERATION +CREATED +REASON\n`+id+` +SUCCEEDED +1 +2 +0 +20`, table)
}

func TestFailedJobTellsWhyInNoWordsOfItsData(t *testing.T) {
	t.Parallel()
	file := servertest.File(t, "load.sql", `SELECT 1 / (2 - jsonb_array_length(@records::jsonb))`, 0o600)
	p := serve(t, pgtest.URL(t), servertest.Loading(file))
	id := p.id(t, "submit", ordersFile(t))
	require.Equal(t, exitFailed, p.job(t, "watch", id).code)
	require.Regexp(t, ` etl_target_failure 22012 division_by_zero record 2\n$`, p.prints(t, "get", id))
	job := parseJob(t, p.prints(t, "get", id, "--output", "json"))
	require.Equal(t, "22012", job.FailureSQLState)
	require.Equal(t, "division_by_zero", job.FailureCondition)
	require.Equal(t, 2, job.FailureRecordOrdinal)
	require.Empty(t, job.FailureConstraint)
	require.False(t, job.AttemptStartedAt.IsZero())
}

func TestTimelineHasEachAttemptAndTheLastOne(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	admin := pgtest.SuperuserPool(t, url)
	_, err := admin.Exec(t.Context(), `CREATE SEQUENCE calls; GRANT USAGE ON calls TO PUBLIC;
		CREATE FUNCTION deadlock_once() RETURNS void LANGUAGE plpgsql AS $$
		BEGIN IF nextval('calls') = 1 THEN RAISE EXCEPTION USING ERRCODE = '40P01'; END IF; END $$`)
	require.NoError(t, err)
	file := servertest.File(t, "load.sql", `SELECT deadlock_once() FROM jsonb_array_elements(@records::jsonb)`, 0o600)
	p := serve(t, url, servertest.Loading(file), func(c *server.Config) { c.Worker.RetryBackoff = time.Millisecond })
	id := p.id(t, "submit", ordersFile(t))
	p.prints(t, "watch", id)
	require.Regexp(t, `(?s)^JOB .*\n`+id+` +SUCCEEDED +2 .*\n\nATTEMPT +OUTCOME +STARTED +ENDED +SQLSTATE\n`+
		`1 +retried +20\S+ +20\S+ +40P01\n2 +SUCCEEDED +20\S+ +20\S+ +-\n$`, p.prints(t, "show", id))
	told := parse[shown](t, p.prints(t, "show", id, "--output", "json"))
	require.Equal(t, 2, told.AttemptCount)
	require.Equal(t, "retried", told.Attempts[0].Outcome)
	require.NotZero(t, p.job(t, "show", uuid.NewString()).code)

	idle := serve(t, pgtest.URL(t), servertest.WithoutWorkers) // on a database of its own, where nobody runs the job
	waiting := idle.id(t, "submit", ordersFile(t))
	require.Regexp(t, `SQLSTATE\n$`, idle.prints(t, "show", waiting))
}

func TestTimelineOfARunningJobIsOpenAndOfOneThatRetriesIsWhole(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	p, g, id := serveGated(t, url)
	require.Regexp(t, `\n1 +RUNNING +20\S+ +- +-\n$`, p.prints(t, "show", id))
	_, err := pgtest.SuperuserPool(t, url).Exec(t.Context(), `INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number, attempt_outcome, started_at)
		SELECT principal_scope_hash, job_record_id, attempt_count, 'lease_lost', attempt_started_at FROM etl_job_records`)
	require.NoError(t, err)
	require.NotContains(t, p.prints(t, "show", id), "\n1  RUNNING")
	g.Open(t)
}

func TestGeneratedKeyIsPrintedSoThatARetryCanUseIt(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	file := ordersFile(t)
	first := p.job(t, "submit", file, "--output", "json")
	require.Equal(t, 0, first.code, first.stderr)
	_, key, found := strings.Cut(strings.TrimSpace(first.stderr), "--idempotency-key ")
	require.True(t, found)

	second := p.job(t, "submit", file, "--output", "json", "--idempotency-key", key)
	require.Contains(t, second.stderr, "nothing was done twice")
	require.NotContains(t, second.stderr, key)
	made, again := parse[client.Accepted](t, first.stdout), parse[client.Accepted](t, second.stdout)
	require.False(t, made.Replayed)
	require.True(t, again.Replayed)
	require.Equal(t, made.ID, again.ID)
}

func TestBatchIsReadFromStandardInputByteForByte(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	const text = " [ {\"id\":\"a\"}\r\n] \n"
	o := invoke(t, p.env(), strings.NewReader(text), "job", "submit", "-", "--idempotency-key", "k")
	require.Equal(t, 0, o.code, o.stderr)
	require.Regexp(t, `^JOB +STATUS +GENERATION\n\S+ +PENDING +0\n$`, o.stdout)
	p.prints(t, "submit", servertest.File(t, "same", text, 0o600), "--idempotency-key", "k")
}

func TestJobIsCancelledReplayedAndItsLineageDrawn(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	file := ordersFile(t)
	root := p.id(t, "submit", file)
	require.Contains(t, p.prints(t, "cancel", root, "--idempotency-key", "stop"), "CANCELLED")
	require.Contains(t, p.job(t, "cancel", root, "--idempotency-key", "stop").stderr, "nothing was done twice")
	first := p.id(t, "replay", root, file)
	p.prints(t, "cancel", first)
	grandchild := p.id(t, "replay", first, file)
	second := p.id(t, "replay", root, file)

	require.Equal(t, root+" CANCELLED etl_job_cancelled_by_owner\n"+
		"├─ "+first+" CANCELLED etl_job_cancelled_by_owner <-\n"+
		"│  └─ "+grandchild+" PENDING\n"+
		"└─ "+second+" PENDING\n", p.prints(t, "lineage", first))
	l := parse[client.Lineage](t, p.prints(t, "lineage", first, "--output", "json"))
	require.Len(t, l.Jobs, 4)
	require.Contains(t, p.prints(t, "lineage", first, "--output", "jsonld"), `"@context"`)
	a := servertest.Call(t, http.MethodPost, p.api+"/graphql", `{"query":"{ lineage(jobRecordId: \"`+first+`\") { mermaid } }"}`)
	type answer struct {
		Data struct{ Lineage struct{ Mermaid string } }
	}
	require.Equal(t, parse[answer](t, string(a.Body)).Data.Lineage.Mermaid, p.prints(t, "lineage", first, "--output", "mermaid"))
}

func TestCancellationSaysWhy(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers, func(c *server.Config) { c.Reasons = storetest.Reasons(t) })
	id := p.id(t, "submit", ordersFile(t))
	refused := p.job(t, "cancel", id, "--reason", "maintenance")
	require.Equal(t, exitInvalid, refused.code)
	require.Contains(t, refused.stderr, "Allowed: etl_job_cancelled_by_owner, wrong_batch, superseded. (etl_invalid_cancellation_reason)")

	require.Contains(t, p.prints(t, "cancel", id, "--reason", "wrong_batch", "--idempotency-key", "stop"), "CANCELLED")
	require.Equal(t, exitRefused, p.job(t, "cancel", id, "--reason", "superseded", "--idempotency-key", "stop").code)
	require.Equal(t, id+" CANCELLED wrong_batch <-\n", p.prints(t, "lineage", id))
}

func TestListFiltersAndSaysWhenThereAreMore(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	file := ordersFile(t)
	require.JSONEq(t, `[]`, p.prints(t, "list", "--output", "json"))
	root := p.id(t, "submit", file)
	p.prints(t, "cancel", root)
	replay := p.id(t, "replay", root, file)

	require.Equal(t, replay+"\n"+root+"\n", p.prints(t, "list", "--output", "id", "--limit", "0"))
	require.Equal(t, root, p.id(t, "list", "--status", "cancelled,FAILED"))
	require.Equal(t, replay, p.id(t, "list", "--replay"))
	require.Equal(t, root, p.id(t, "list", "--replay=false"))
	cut := p.job(t, "list", "--limit", "1")
	require.Contains(t, cut.stderr, "--limit 0 lists all")
	require.NotContains(t, cut.stdout, root)
	require.Empty(t, p.job(t, "list", "--limit", "2").stderr)
}

func TestExitCodeTellsTheClassOfTheProblem(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers, func(c *server.Config) { c.Rates.Replay = 0.001 })
	file, unknown := ordersFile(t), uuid.NewString()
	id := p.id(t, "submit", file, "--idempotency-key", "used")
	p.prints(t, "cancel", id)
	p.prints(t, "replay", id, file)
	for _, c := range []struct {
		code    int
		message string
		args    []string
	}{
		{exitUsage, "unknown command", []string{"submitt"}},
		{exitUsage, "--sort", []string{"list", "--sort", "age"}},
		{exitUsage, "write it as: fencepost job get JOB", []string{"get"}},
		{exitUsage, "PENDING, RUNNING", []string{"list", "--status", "DONE"}},
		{exitUsage, "is not the id of a job", []string{"get", "42"}},
		{exitUsage, "no such file", []string{"submit", file + ".missing"}},
		{exitUsage, "no such file", []string{"replay", id, file + ".missing"}},
		{exitUsage, "--server: the base URL", []string{"list", "--server", "etl.example.com"}},
		{exitUsage, "--allow-plaintext", []string{"list", "--server", "http://etl.example.com"}},
		{exitCredentials, "etl_authentication_required", []string{"list", "--password", "a wrong password"}},
		{exitNotFound, "etl_job_not_found", []string{"get", unknown}},
		{exitNotFound, "etl_job_not_found", []string{"watch", unknown}},
		{exitNotFound, "etl_job_not_found", []string{"cancel", unknown}},
		{exitNotFound, "etl_job_not_found", []string{"lineage", unknown}},
		{exitNotFound, "etl_job_not_found", []string{"lineage", unknown, "--output", "jsonld"}},
		{exitRefused, "etl_job_submission_key_reused", []string{"submit", servertest.File(t, "other", `[]`, 0o600), "--idempotency-key", "used"}},
		{exitInvalid, "etl_invalid_json", []string{"submit", servertest.File(t, "text", `text`, 0o600)}},
		{exitUnavailable, "etl_rate_limited", []string{"replay", id, file, "--timeout", "1m"}},
		{exitUnavailable, "cannot be reached", []string{"list", "--server", "http://127.0.0.1:1", "--timeout", "1s"}},
		{exitUnavailable, "cannot be reached", []string{"submit", file, "--server", "http://127.0.0.1:1", "--timeout", "1s"}},
	} {
		o := p.job(t, c.args...)
		require.Equal(t, c.code, o.code, "%v: %s", c.args, o.stderr)
		require.Contains(t, o.stderr, c.message)
		require.Empty(t, o.stdout)
	}
}

func TestRefusedBatchIsToldWithALineForEachRecordAtFault(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	source := p.id(t, "submit", ordersFile(t))
	for batch, end := range map[string]string{
		`[{"id":"a"},{"canary":"canary"},{"id":"a","canary":[1e1000]}]`: "(etl_invalid_record)\nrecord 2: missing_id\nrecord 3: number_too_large\n",
		`[{"id":"canary"},]`:                 "(etl_invalid_json)\nat byte 16\n",
		`[{"id":"a","canary":1,"canary":2}]`: "(etl_invalid_json)\nat byte 22\nrecord 1: duplicate_member\n",
	} {
		file := servertest.File(t, "batch.json", batch, 0o600)
		for _, args := range [][]string{{"submit", file}, {"replay", source, file}} {
			o := p.job(t, args...)
			require.Equal(t, exitInvalid, o.code)
			require.True(t, strings.HasSuffix(o.stderr, end), o.stderr)
			require.NotContains(t, o.stderr, "canary")
		}
	}
	many := servertest.File(t, "many.json", "["+strings.Repeat("1,", 40)+"1]", 0o600)
	require.Equal(t, 20, strings.Count(p.job(t, "submit", many).stderr, ": not_an_object\n"))
}

func TestPlacesOfALaterServerAreToldAsTheyAreAndNoMoreThanTwenty(t *testing.T) {
	t.Parallel()
	errs := slices.Repeat([]jobtype.RecordError{{Pointer: "", Code: "empty"}}, 21)
	told := explain(&client.Problem{Status: http.StatusUnprocessableEntity, Errors: errs}).Error()
	require.Equal(t, "status 422"+strings.Repeat("\n: empty", 20), told)
}

func TestConflictIsARefusal(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	file := ordersFile(t)
	o := p.job(t, "replay", p.id(t, "submit", file), file)
	require.Equal(t, exitRefused, o.code)
	require.Contains(t, o.stderr, "etl_job_replay_source_active")
}

func TestBadTwinOfAJobFlagIsAWrongCommandLine(t *testing.T) {
	t.Parallel()
	o := invoke(t, env{"FENCEPOST_TIMEOUT": "soon"}, nil, "job", "list")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "FENCEPOST_TIMEOUT")
}

func TestAnswerThatIsNotFenceposts(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusInternalServerError} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		o := (&site{api: other.URL}).job(t, "list")
		other.Close()
		require.Equal(t, exitFailure, o.code)
		require.Contains(t, o.stderr, http.StatusText(status))
	}
}

func TestInterruptedCallIsNotAnUnavailableServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &site{api: "http://127.0.0.1:1"}
	code := run(ctx, command.Shell{Stdout: io.Discard, Stderr: io.Discard, LookupEnv: p.env().lookup}, []string{"job", "list"})
	require.Equal(t, exitFailure, code)
}

func TestPlaintextToAnotherMachineCanBeAllowed(t *testing.T) {
	t.Parallel()
	o := (&site{api: "http://host.invalid"}).job(t, "list", "--allow-plaintext", "--timeout", "1s")
	require.Equal(t, exitUnavailable, o.code, o.stderr)
}

func TestJobWithoutACommandShowsItsHelp(t *testing.T) {
	t.Parallel()
	require.Contains(t, (&site{}).prints(t), "Exit codes:")
}
