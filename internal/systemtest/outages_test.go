package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/faultproxy"
	"fencepost/internal/pgtest"
	"fencepost/internal/server"
)

// outageSite is a running server, its PostgreSQL, and a proxy between them.
type outageSite struct {
	*process
	database *pgtest.Instance
	proxy    *faultproxy.Proxy
	// source is the job that requests name.
	source  string
	answers strings.Builder
}

func withTwoWorkers(c *server.Config) { c.Worker.Workers = 2 }

func startOutageSite(t *testing.T) *outageSite {
	t.Helper()
	database := pgtest.Server(t, "max_connections=20")
	proxy := faultproxy.Start(t, database.URL())
	p := serve(t, proxy.URL(), withTwoWorkers, func(c *server.Config) {
		c.Worker.PollInterval, c.Database.LockTimeout = 100*time.Millisecond, 100*time.Millisecond
	})
	s := &outageSite{process: p, database: database, proxy: proxy}
	s.source = p.Submit(t, "source")
	requireSuccess(t, s.source)
	return s
}

// outage is a state of the database in which it cannot be used, or not be written.
type outage struct {
	name       string
	begin, end func(*testing.T, *outageSite)
	// readable says that reads are answered meanwhile.
	readable bool
}

var outages = []outage{
	{
		name:  "stopped",
		begin: func(t *testing.T, s *outageSite) { t.Helper(); s.database.Stop(t) },
		end:   func(t *testing.T, s *outageSite) { t.Helper(); s.database.Start(t) },
	},
	{
		name:  "crashed",
		begin: func(t *testing.T, s *outageSite) { t.Helper(); s.database.Crash(t) },
		end:   func(t *testing.T, s *outageSite) { t.Helper(); s.database.Start(t) },
	},
	{
		name:  "unreachable",
		begin: func(_ *testing.T, s *outageSite) { s.proxy.Down() },
		end:   func(_ *testing.T, s *outageSite) { s.proxy.Up() },
	},
	{
		name:  "hanging",
		begin: func(_ *testing.T, s *outageSite) { s.proxy.Delay(time.Hour) },
		end:   func(_ *testing.T, s *outageSite) { s.proxy.Delay(0) },
	},
	{
		name: "read-only",
		begin: func(t *testing.T, s *outageSite) {
			t.Helper()
			s.configure(t, "SET default_transaction_read_only = on")
		},
		end:      func(t *testing.T, s *outageSite) { t.Helper(); s.configure(t, "RESET default_transaction_read_only") },
		readable: true,
	},
}

// configure changes a setting of the running PostgreSQL.
func (s *outageSite) configure(t *testing.T, change string) {
	t.Helper()
	conn := s.connect(t)
	defer conn.Close(context.Background())
	for _, statement := range []string{"ALTER SYSTEM " + change, "SELECT pg_reload_conf()"} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

func (s *outageSite) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.Superuser(t, s.database.URL()))
	require.NoError(t, err)
	return conn
}

func TestOutagesAreAnsweredWith503AndEndByThemselves(t *testing.T) {
	t.Parallel()
	s := startOutageSite(t)
	for _, o := range outages {
		o.begin(t, s)
		s.requireOutage(t, o)
		o.end(t, s)
		s.requireRecovery(t, o.name)
	}
	s.requireQuietLog(t, len(outages))
}

func TestSlowDatabaseIsOnlySlow(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	proxy := faultproxy.Start(t, url)
	p := serve(t, proxy.URL(), withTwoWorkers)
	proxy.Delay(50 * time.Millisecond)
	requireReadiness(t, p, http.StatusOK, "slow")
	requireSuccess(t, p.Submit(t, "slow"))
	require.Empty(t, pgtest.WrongRows(t, url), "the rows that are wrong")
}

func TestServerWithoutFreeConnectionsRecoversWhenThereAreSome(t *testing.T) {
	t.Parallel()
	s := startOutageSite(t)
	o := outage{name: "out-of-connections"}
	s.proxy.Down()
	held := s.takeAllConnections(t)
	s.proxy.Up()
	s.requireOutage(t, o)
	for _, conn := range held {
		require.NoError(t, conn.Close(t.Context()))
	}
	s.requireRecovery(t, o.name)
	s.requireQuietLog(t, 1)
}

// takeAllConnections waits until PostgreSQL has given up those of the server, and takes as many as it allows.
func (s *outageSite) takeAllConnections(t *testing.T) (held []*pgx.Conn) {
	t.Helper()
	held = []*pgx.Conn{s.connect(t)}
	require.Eventually(t, func() bool {
		var others int
		err := held[0].QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fencepost'`).Scan(&others)
		return err == nil && others == 0
	}, patience, 10*time.Millisecond)
	for {
		conn, err := pgx.Connect(t.Context(), s.database.URL())
		switch {
		case err == nil:
			held = append(held, conn)
		case !errors.Is(err, syscall.EAGAIN): // the queue of PostgreSQL's socket is full for now
			require.ErrorContains(t, err, "53300")
			return held
		}
	}
}

// requireOutage waits until the server and its worker have noticed, and asks for everything at once.
func (s *outageSite) requireOutage(t *testing.T, o outage) {
	t.Helper()
	requireReadiness(t, s.process, http.StatusServiceUnavailable, o.name)
	s.requireClaims(t, true, o.name)
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, s.API+"/livez", "").Status, o.name)
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, s.Admin+"/livez", "").Status, o.name)
	for _, a := range callAll(t, o.name, s.requests()...) {
		s.answers.Write(a.Body)
		switch {
		case a.url == s.API+"/graphql":
			unavailable := strings.Contains(string(a.Body), `"code":"UNAVAILABLE"`)
			require.Equal(t, o.readable, !unavailable, "%s: %s", o.name, a.Body)
		case a.method == http.MethodGet && o.readable:
			require.Equal(t, http.StatusOK, a.Status, "%s: %s", o.name, a.url)
		default:
			requireUnavailable(t, a, o.name)
		}
	}
}

// requireReadiness waits until the process answers so.
func requireReadiness(t *testing.T, p *process, status int, during string) {
	t.Helper()
	pgtest.Eventually(t, fmt.Sprintf("readiness to be %d: %s", status, during), func() bool {
		return call(t, http.MethodGet, p.API+"/readyz", "").Status == status
	})
}

const (
	cannotUse   = `"msg":"the database cannot be used","sql_state":"`
	cannotClaim = "worker cannot claim jobs"
	claimsAgain = "worker claims jobs again"
)

// requireClaims waits until the worker's latest claim has failed, or no longer has, as its log tells.
func (s *outageSite) requireClaims(t *testing.T, failing bool, during string) {
	t.Helper()
	require.Eventually(t, func() bool {
		log := s.Log.String()
		return failing == (strings.Count(log, cannotClaim) > strings.Count(log, claimsAgain))
	}, patience, 10*time.Millisecond, during)
}

// requests are of every kind.
func (s *outageSite) requests() []request {
	return []request{
		{http.MethodGet, s.source, ""},
		{http.MethodGet, s.source + "/lineage", ""},
		{http.MethodGet, s.API + "/api/etl/jobs", ""},
		{http.MethodPost, s.API + "/graphql", `{"query":"{ jobs { nodes { status } } }"}`},
		{http.MethodPost, s.API + "/api/etl/jobs", `[{"id":"a"}]`},
		{http.MethodPost, s.source + "/cancellation", ""},
		{http.MethodPost, s.source + "/replays", `[{"id":"a"}]`},
	}
}

// request is a call that is made beside others.
type request struct{ method, url, content string }

type answered struct {
	request
	answer
}

func callAll(t *testing.T, key string, requests ...request) []answered {
	t.Helper()
	answers := make([]answered, len(requests))
	var calls sync.WaitGroup
	for i, r := range requests {
		calls.Go(func() { answers[i] = answered{r, call(t, r.method, r.url, r.content, "Idempotency-Key", key)} })
	}
	calls.Wait()
	return answers
}

// requireUnavailable checks a problem that tells a client to come again.
func requireUnavailable(t *testing.T, a answered, during string) {
	t.Helper()
	require.Equal(t, http.StatusServiceUnavailable, a.Status, "%s: %s %s: %s", during, a.method, a.url, a.Body)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Equal(t, "application/problem+json", a.Header.Get("Content-Type"))
	var problem struct{ ErrorCode string }
	require.NoError(t, json.Unmarshal(a.Body, &problem))
	require.Equal(t, "etl_database_unavailable", problem.ErrorCode)
}

// requireRecovery sends again, under the same key, what was refused in the outage, and has it executed.
func (s *outageSite) requireRecovery(t *testing.T, key string) {
	t.Helper()
	requireReadiness(t, s.process, http.StatusOK, key)
	requireSuccess(t, s.Submit(t, key))
	s.requireClaims(t, false, key)
	require.Empty(t, pgtest.WrongRows(t, s.database.URL()), "the rows that are wrong after: %s", key)
}

// requireQuietLog ends the server. Its log has two lines for each outage, one of the database at least, a few of attempts, and no secrets.
func (s *outageSite) requireQuietLog(t *testing.T, outages int) {
	t.Helper()
	b := readBooks(t, s.database.URL())
	require.Equal(t, balance{Succeeded: outages + 1, Jobs: outages + 1}, b)
	said := requireSecrecy(t, s.process, s.answers.String(), password, s.proxy.URL(), s.database.URL(), "postgres://")
	all, _, _ := strings.Cut(said, "# HELP")
	log := ""
	for line := range strings.Lines(all) {
		if !strings.Contains(line, `"level":"DEBUG"`) && !strings.Contains(line, cannotUse) {
			log += line
		}
	}
	require.Contains(t, all, cannotUse)
	require.Equal(t, outages, strings.Count(log, cannotClaim), log)
	require.Equal(t, outages, strings.Count(log, claimsAgain), log)
	attempts := strings.Count(log, "job attempt ended")
	require.LessOrEqual(t, attempts, 2*(outages+1), log)
	require.Equal(t, attempts+2*outages+1, strings.Count(log, "\n"), "nothing but that, and that it drains: %s", log)
}

func TestServerWhoseDatabaseIsAStandbyAnswersReadsAndIsNotReady(t *testing.T) {
	t.Parallel()
	standby := pgtest.Server(t).Replica(t)
	p := serve(t, standby.URL(), withoutWorkers)
	require.Equal(t, http.StatusServiceUnavailable, call(t, http.MethodGet, p.API+"/readyz", "").Status)
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.API+"/livez", "").Status)
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.API+"/api/etl/jobs", "").Status)
	for _, a := range callAll(t, "standby", request{http.MethodPost, p.API + "/api/etl/jobs", `[]`}) {
		requireUnavailable(t, a, "standby")
	}
}
