package systemtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/servertest"
)

// mark is part of everything that must not leave: the principal, the password, the keys, the payloads, and so the text of
// the errors that the load statement meets.
const (
	mark           = "canary"
	markedName     = mark + "-principal"
	markedPassword = mark + "-password"
)

// markedLoad fails on a number that is none, with an error that quotes it, and takes its time when it is told to.
const markedLoad = `
INSERT INTO processed_data
SELECT @owner::bytea, @job_record_id::uuid, (record ->> 'number')::integer, 'canary', record
FROM jsonb_array_elements(@records::jsonb) AS record, pg_sleep((record ->> 'seconds')::integer)`

// markedServer is a server whose answers are kept.
type markedServer struct {
	*process
	t        *testing.T
	database *pgx.Conn
	answers  strings.Builder
	secrets  []string
	jobs     []string
}

func startMarked(t *testing.T) *markedServer {
	t.Helper()
	url, dir := pgtest.URL(t), t.TempDir()
	load := filepath.Join(dir, "load.sql")
	require.NoError(t, os.WriteFile(load, []byte(markedLoad), 0o600))
	database, err := pgx.Connect(t.Context(), pgtest.Superuser(t, url))
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(t.Context()) })
	p := serve(t, url, marked(t), loading(load))
	credential := markedName + ":" + markedPassword
	secrets := append(digests(markedName, markedPassword, credential), mark, base64.StdEncoding.EncodeToString([]byte(credential)))
	return &markedServer{process: p, t: t, database: database, secrets: secrets}
}

// marked has a server know the marked user, and nobody else.
func marked(t *testing.T) func(*server.Config) {
	t.Helper()
	file := servertest.UsersFile(t, markedName, markedPassword)
	return func(c *server.Config) { c.Site.UsersFile = file }
}

// digests are the hashes of texts, in the forms that they could be written in.
func digests(texts ...string) (written []string) {
	for _, text := range texts {
		hash := sha256.Sum256([]byte(text))
		written = append(written, spellings(hash[:])...)
	}
	return written
}

func spellings(secret []byte) []string {
	return []string{
		hex.EncodeToString(secret), strings.ToUpper(hex.EncodeToString(secret)),
		base64.RawStdEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret),
	}
}

// post sends a request with a marked key.
func (s *markedServer) post(path, key, body string) answer {
	s.t.Helper()
	s.secrets = append(s.secrets, digests(mark+" "+key, body)...)
	return s.send(http.MethodPost, path, body, "Idempotency-Key", `"`+mark+" "+key+`"`)
}

// send keeps the answer to a request, but for the path, which comes back in a problem.
func (s *markedServer) send(method, target, body string, header ...string) answer {
	s.t.Helper()
	a := callAs(s.t, http.DefaultClient, markedName, markedPassword, method, s.API+target, body, header...)
	path, _, _ := strings.Cut(target, "?")
	fmt.Fprintln(&s.answers, a.Status, a.Header, strings.ReplaceAll(string(a.Body), `"`+path+`"`, ""))
	return a
}

// submit makes a job and waits until the database has it in a status.
func (s *markedServer) submit(record, status string) (path string) {
	s.t.Helper()
	a := s.post("/api/etl/jobs", status, "["+record+"]")
	require.Equal(s.t, http.StatusAccepted, a.Status)
	path = a.Header.Get("Location")
	id := path[strings.LastIndex(path, "/")+1:]
	s.jobs = append(s.jobs, id)
	require.Eventually(s.t, func() bool {
		var found string
		err := s.database.QueryRow(s.t.Context(), "SELECT job_status FROM etl_job_records WHERE job_record_id = $1", id).Scan(&found)
		return err == nil && found == status
	}, patience, patience/1000)
	s.noteIdentities()
	return path
}

// noteIdentities remembers the hashes and lease ids that the database holds now, in the forms that they could be written in.
func (s *markedServer) noteIdentities() {
	s.t.Helper()
	rows, err := s.database.Query(s.t.Context(), `
		SELECT secret FROM etl_job_records, unnest(ARRAY[principal_scope_hash, submission_key_hash, request_digest,
			cancellation_key_hash, uuid_send(lease_claim_id), uuid_send(lease_owner_id)]) AS secret
		WHERE secret IS NOT NULL`)
	require.NoError(s.t, err)
	secrets, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	require.NoError(s.t, err)
	for _, secret := range secrets {
		s.secrets = append(s.secrets, spellings(secret)...)
		if len(secret) == 16 {
			s.secrets = append(s.secrets, (&pgtype.UUID{Bytes: [16]byte(secret), Valid: true}).String())
		}
	}
}

func TestNothingSecretLeavesInAnswersLogsOrMetrics(t *testing.T) {
	t.Parallel()
	s := startMarked(t)
	slow := s.submit(`{"id":"canary","number":1,"seconds":60}`, "RUNNING")
	s.post(slow+"/cancellation", "stop", "")
	s.post(slow+"/cancellation", "stop again", "")
	s.noteIdentities()
	done := s.submit(`{"id":"canary","number":2,"seconds":0}`, "SUCCEEDED")
	s.post(done+"/cancellation", "stop", "")
	failed := s.submit(`{"id":"canary","number":"canary","seconds":0}`, "FAILED")
	require.Equal(t, http.StatusUnprocessableEntity, s.post(failed+"/replays", "replay", `[{"id":"canary"}]`).Status)
	require.Equal(t, http.StatusAccepted, s.post(failed+"/replays", "replay", `[{"id":"canary","number":"canary","seconds":0}]`).Status)
	s.post("/api/etl/jobs", "é", `["canary"]`)
	s.post("/api/etl/jobs", "broken", `[{"canary"`)
	for _, document := range []string{"{canary", "{canary}", `{job(jobRecordId: \"canary\", canary: 1) {id}}`} {
		s.post("/graphql", "", `{"query":"`+document+`"}`)
	}
	for _, target := range []string{
		"/canary?canary=canary", "/api/etl/jobs/canary", "/api/etl/jobs/canary/lineage", "/api/etl/jobs/canary/provenance?canary",
		"/api/etl/jobs?canary=canary", "/api/etl/jobs?cursor=canary", "/api/etl/jobs?status=canary", "/graphql?query={canary}",
		"/playground?canary", "/lineage?job=canary",
	} {
		s.send(http.MethodGet, target, "")
		s.send("CANARY", target, mark, "Accept", "text/canary", "Content-Type", "text/canary", "X-Request-Id", mark)
		s.send(http.MethodGet, target, "", "Authorization", "Basic canary", "If-None-Match", `"canary"`)
	}
	for _, path := range []string{slow, done, failed} {
		for _, part := range []string{"", "/lineage", "/provenance"} {
			require.Equal(t, http.StatusOK, s.send(http.MethodGet, path+part, "").Status)
		}
	}
	_, err := s.database.Exec(t.Context(), "ALTER TABLE etl_job_records RENAME COLUMN job_status TO canary")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, s.post("/api/etl/jobs", "x", `[]`).Status)
	s.post("/graphql", "", `{"query":"{jobs{nodes{id}}}"}`)

	require.Greater(t, len(s.secrets), 50)
	said := requireSecrecy(t, s.process, s.answers.String(), s.secrets...)
	for line := range strings.Lines(said) {
		if strings.Contains(line, `"msg":"job attempt ended"`) && strings.Contains(line, `"code":"etl_`) {
			continue // the line of a failure names its job, for the operator
		}
		for _, id := range s.jobs {
			require.NotContains(t, line, id)
		}
	}
	require.Contains(t, said, "etl_target_failure", "the log was written")
}

// requireSecrecy ends a server and looks for secrets, and for SQL, in its answers, its metrics and its log. It returns the
// latter two.
func requireSecrecy(t *testing.T, p *process, answers string, secrets ...string) (said string) {
	t.Helper()
	metrics := string(call(t, http.MethodGet, p.Admin+"/metrics", "").Body)
	_ = p.End() // with an error, where the database is gone
	log := p.Log.String()
	for name, text := range map[string]string{"answers": answers, "log": log, "metrics": metrics} {
		require.NotEmpty(t, text, name)
		for _, secret := range secrets {
			require.NotContains(t, text, secret, name)
		}
		require.NotRegexp(t, `(?i)\(sqlstate \w{5}\)|etl_job_records|select |insert |invalid input syntax`, text, name)
	}
	return log + metrics
}
