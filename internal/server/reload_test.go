package server_test

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/servertest"
)

// newPrices is a database with a table that anybody may write, and what alters it.
func newPrices(t *testing.T) (url string, alter func(sql string)) {
	t.Helper()
	url = pgtest.Direct(pgtest.URL(t))
	admin := pgtest.SuperuserPool(t, url)
	alter = func(sql string) {
		t.Helper()
		_, err := admin.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	alter("CREATE TABLE prices (item text); GRANT INSERT ON prices TO PUBLIC")
	return url, alter
}

// into is a load into a column of the table.
func into(column string) string {
	return "INSERT INTO prices (" + column + ") SELECT r.id FROM jsonb_to_recordset(@records::jsonb) AS r (id text)"
}

func rewrite(t *testing.T, file, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
}

func TestLoadWhoseFileIsMendedGoesOnWithoutARestart(t *testing.T) {
	t.Parallel()
	url, alter := newPrices(t)
	file := servertest.File(t, "load.sql", into("item"), 0o600)
	p := servertest.Serve(t, url, servertest.Loading(file))
	alter("ALTER TABLE prices RENAME item TO name")
	job := p.Submit(t, "key")
	require.Eventually(t, func() bool { return strings.Contains(p.Log.String(), "load is closed") }, time.Minute, time.Millisecond)
	rewrite(t, file, into("name"))
	servertest.RequireSuccess(t, job)
}

func TestHangupReadsFilesAgainAndEndsNothing(t *testing.T) {
	t.Parallel()
	url, alter := newPrices(t)
	alter("ALTER TABLE prices ADD name text")
	file := servertest.File(t, "load.sql", into("item"), 0o600)
	certFile, keyFile, _ := newCertificate(t)
	newCertFile, newKeyFile, client := newCertificate(t)
	p := servertest.Serve(t, url, servertest.Loading(file), func(c *server.Config) {
		c.Public.CertFile, c.Public.KeyFile = certFile, keyFile
	})
	hangUp := func(told ...string) {
		t.Helper()
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		require.Eventually(t, func() bool {
			for _, line := range told {
				if !strings.Contains(p.Log.String(), line) {
					return false
				}
			}
			return true
		}, time.Minute, time.Millisecond)
	}
	submit := func(key string) {
		t.Helper()
		a := servertest.CallAs(t, client, servertest.Name, servertest.Password, http.MethodPost, p.API+"/api/etl/jobs", `[{"id":"a"}]`, "Idempotency-Key", key)
		require.Equal(t, http.StatusAccepted, a.Status)
	}
	rewrite(t, file, into("name"))
	for from, to := range map[string]string{newCertFile: certFile, newKeyFile: keyFile} {
		content, err := os.ReadFile(from)
		require.NoError(t, err)
		rewrite(t, to, string(content))
	}
	hangUp(`"msg":"read again","what":"load"`, `"msg":"read again","what":"certificate"`)
	submit("new")
	pool := pgtest.SuperuserPool(t, url)
	loaded := func(n int) bool {
		var count int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(name) FROM prices").Scan(&count))
		return count == n
	}
	require.Eventually(t, func() bool { return loaded(1) }, time.Minute, time.Millisecond, "the new load")

	rewrite(t, file, into("nothing"))
	rewrite(t, keyFile, "no key")
	hangUp(`so what was there before stays","what":"certificate"`)
	submit("before")
	require.Eventually(t, func() bool { return loaded(2) }, time.Minute, time.Millisecond)
	require.NoError(t, p.End())
}
