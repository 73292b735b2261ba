package rest_test

import (
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// TestNothingOfARequestComesBack puts the canary where the other tests do not. The end of every test looks for it.
func TestNothingOfARequestComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.cancelled()
	w.get("/" + canary + "?" + canary + "=" + canary).require(404)
	w.get(jobsPath + "/" + canary).require(404)
	w.get(jobsPath + "?" + canary + "=" + canary).require(400)
	w.get(jobsPath + "?cursor=" + canary + "&status=" + canary).require(400)
	w.get(path+"?"+canary, "If-None-Match: "+quoted(canary), "X-Request-Id: "+canary, "Origin: https://"+canary).require(200)
	w.get(path, "Accept: text/"+canary).require(406)
	w.get(path, "Authorization: "+canary).require(401)
	w.do("CANARY", path, canary).require(405)
	w.submit(batch, `"canary`).require(400)
	w.submit(`[{"canary":1,"canary":2}]`, quoted(canary)).require(400)
	w.submit(`[{"id":"\u0000canary"}]`, quoted(canary)).require(422)
	w.post(path, batch, quoted(canary)).require(405)
	w.submit(batch, quoted(canary), "Content-Encoding: "+canary).require(415)
	w.do("POST", jobsPath, batch, "Content-Type: application/json; charset="+canary).require(415)
}

// TestAFaultIsLoggedByItsKind: the log names the code and the type of the error, and the place of a panic.
func TestAFaultIsLoggedByItsKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("ALTER TABLE etl_job_records RENAME COLUMN created_at TO canary")
	w.get(jobsPath).refused(job.CodeInternalError)
	require.Contains(t, w.logs.String(), `"code":"etl_internal_error","cause":"*pgconn.PgError"`)

	w = newWorld(t, func(s *setup) { s.limiter = panicking{} })
	w.submit(batch, quoted(canary)).refused(job.CodeInternalError)
	require.Contains(t, w.logs.String(), `"cause":"panic at fencepost/rest_test.panicking.Allow:`)

	w = newWorld(t, unreachable...)
	w.get(jobsPath).refused(job.CodeDatabaseUnavailable)
	require.Empty(t, w.logs.String(), "a refusal is no fault")
}

// TestNoHashAndNoLeaseComesBack reads what the database has of the jobs, and looks for it in every answer about them.
func TestNoHashAndNoLeaseComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.cancelled()
	w.replay(source, batch, quoted(canary)).require(202)
	running := w.running()
	for _, path := range []string{source, running} {
		w.get(path).require(200)
		w.get(path + "/lineage").require(200)
		w.get(path + "/provenance").require(200)
		w.replay(path, batch, `"other canary"`)
		w.replay(path, batch+" ", quoted(canary))
		w.cancel(path, `"other canary"`)
	}
	w.get(jobsPath).require(200)

	rows, err := w.pool.Query(t.Context(), `
		SELECT secret FROM etl_job_records, LATERAL (VALUES (principal_scope_hash), (submission_key_hash), (request_digest),
			(cancellation_key_hash), (uuid_send(lease_claim_id)), (uuid_send(lease_owner_id))) AS v (secret)
		WHERE secret IS NOT NULL`)
	require.NoError(t, err)
	secrets, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	require.NoError(t, err)
	require.Greater(t, len(secrets), 10)
	for _, secret := range secrets {
		if id, err := uuid.FromBytes(secret); err == nil {
			require.NotContains(t, w.heard.String(), id.String())
		}
		require.NotContains(t, w.heard.String(), hex.EncodeToString(secret))
		require.NotContains(t, w.heard.String(), base64.RawStdEncoding.EncodeToString(secret))
		require.NotContains(t, w.heard.String(), base64.RawURLEncoding.EncodeToString(secret))
	}
	require.NotContains(t, w.heard.String(), "SELECT")
	require.NotContains(t, w.heard.String(), "etl_job_records")
}
