package check_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/check"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/storetest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// newURL is a database as it has to be.
func newURL(t *testing.T) string {
	t.Helper()
	return pgtest.Direct(pgtest.URL(t))
}

// altered is such a database to which a superuser has done something.
func altered(t *testing.T, sql string) string {
	t.Helper()
	url := newURL(t)
	_, err := pgtest.SuperuserPool(t, url).Exec(t.Context(), sql)
	require.NoError(t, err)
	return url
}

// pretending is such a database in which a function of PostgreSQL is another one.
func pretending(t *testing.T, function string) string {
	t.Helper()
	return altered(t, "CREATE SCHEMA pretended; GRANT USAGE ON SCHEMA pretended TO PUBLIC; CREATE FUNCTION pretended."+function) +
		"&search_path=pretended,pg_catalog,public"
}

// encodedInASCII is an empty database in another encoding.
func encodedInASCII(t *testing.T) string {
	t.Helper()
	url := pgtest.EmptyURL(t)
	admin := pgtest.PoolOn(t, url)
	name := admin.Config().ConnConfig.Database
	_, err := admin.Exec(t.Context(), "CREATE DATABASE "+name+"_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+"_ascii WITH (FORCE)")
		require.NoError(t, err)
	})
	return strings.Replace(url, name, name+"_ascii", 1)
}

const unreachable = "postgres://nobody@127.0.0.1:1/none"

func load(t *testing.T, sql string) postgres.Load {
	t.Helper()
	l, err := postgres.NewLoad(sql)
	require.NoError(t, err)
	return l
}

func TestGoodDatabasePassesEveryCheck(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "&default_query_exec_mode=cache_describe"} {
		results := check.Run(t.Context(), check.Config{Pool: storetest.Open(t, newURL(t)+mode), Load: postgres.BuiltinLoad})
		var names []string
		for _, r := range results {
			require.Equal(t, check.Result{Name: r.Name, State: check.Passed}, r)
			names = append(names, r.Name)
		}
		require.Equal(t, []string{
			"database", "encoding", "version", "writable", "clock", "schema", "privileges", "load", "prepared statements", "notices",
		}, names)
		require.NoError(t, check.FirstFailure(results))
	}
}

// fault is a broken database, and what is said of it.
type fault struct {
	name, finding string
	state         check.State
	url           func(t *testing.T) string
	load          string
	listen        string
}

var faults = []fault{
	{
		name: "database", state: check.Failed, url: func(*testing.T) string { return unreachable },
		finding: "the database cannot be reached: look at the address, the name and the password in --database-url",
	},
	{
		name: "encoding", state: check.Failed, url: encodedInASCII,
		finding: "the database has the encoding SQL_ASCII, which cannot hold every batch: make one with ENCODING 'UTF8'",
	},
	{
		name: "version", state: check.Failed,
		url: func(t *testing.T) string {
			t.Helper()
			return pretending(t, oldVersion)
		},
		finding: "the database is PostgreSQL 14: upgrade it to 15 or later",
	},
	{
		name: "version", state: check.Warned,
		url: func(t *testing.T) string {
			t.Helper()
			return pretending(t, strings.Replace(oldVersion, "140011", "190000", 1))
		},
		finding: "the database is PostgreSQL 19, and this program was tried with 15 to 18",
	},
	{
		name: "writable", state: check.Warned,
		url: func(t *testing.T) string {
			t.Helper()
			return newURL(t) + "&default_transaction_read_only=on"
		},
		finding: "the database is read-only, as a standby is: name the primary in --database-url",
	},
	{
		name: "clock", state: check.Warned,
		url: func(t *testing.T) string {
			t.Helper()
			return pretending(t, `clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS $$ SELECT timestamptz 'epoch' $$`)
		},
		finding: "apart: set them by NTP",
	},
	{
		name: "schema", state: check.Failed, url: func(t *testing.T) string {
			t.Helper()
			return pgtest.EmptyURL(t)
		},
		finding: "run `fencepost migrate up`",
	},
	{
		name: "schema", state: check.Failed, url: func(t *testing.T) string {
			t.Helper()
			return altered(t, "REVOKE SELECT ON goose_db_version FROM fencepost_server")
		},
		finding: "the version of the schema cannot be read: grant SELECT on goose_db_version to the role, as deploy/roles/grants.sql does",
	},
	{
		name: "privileges", state: check.Failed, url: func(t *testing.T) string {
			t.Helper()
			return altered(t, "REVOKE INSERT ON processed_data, etl_job_attempts FROM fencepost_server")
		},
		finding: "the role lacks privileges on etl_job_attempts, processed_data: run deploy/roles/grants.sql",
	},
	{
		name: "privileges", state: check.Failed, url: func(t *testing.T) string {
			t.Helper()
			return pgtest.EmptyURL(t)
		},
		finding: "the privileges of the role cannot be looked at: migrate the schema first",
	},
	{
		name: "load", state: check.Failed, url: newURL, load: "INSERT INTO prices\nSELECT @records",
		finding: "the load statement does not fit the database: SQLSTATE 42P01 at line 1, column 13 of its file",
	},
	{
		name: "load", state: check.Failed, url: newURL, load: "SELECT @records::jsonb; SELECT 1",
		finding: "the load statement does not fit the database: SQLSTATE 42601",
	},
	{
		name: "prepared statements", state: check.Failed, url: throughPooler,
		finding: "a pooler between here and the database loses prepared statements: " +
			"add default_query_exec_mode=cache_describe to --database-url, or set max_prepared_statements in PgBouncer 1.21 or later",
	},
	{
		name: "notices", state: check.Failed, url: newURL, listen: unreachable,
		finding: "no notice is heard, as through a pooler that shares sessions: name the database itself in --listen-url",
	},
}

// oldVersion lets the server say that it is an old one.
const oldVersion = `current_setting(name text) RETURNS text STABLE LANGUAGE sql
	AS $$ SELECT CASE name WHEN 'server_version_num' THEN '140011' ELSE pg_catalog.current_setting(name) END $$`

func TestEachFaultIsToldWithItsRemedyInOneSentence(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name+" "+f.finding, func(t *testing.T) {
			t.Parallel()
			c := check.Config{Pool: storetest.Open(t, f.url(t)), Load: postgres.BuiltinLoad}
			if f.load != "" {
				c.Load = load(t, f.load)
			}
			if f.listen != "" {
				c.Listen = listener(t, f.listen)
			}
			results := check.Run(t.Context(), c)
			r := named(t, results, f.name)
			require.Equal(t, f.state, r.State)
			require.Contains(t, r.Finding, f.finding)
			require.NotContains(t, r.Finding, "\n")
			if f.state == check.Failed {
				require.Error(t, check.FirstFailure(results))
			}
		})
	}
}

func TestLoadWhoseTableMayBeMadeYetIsAWarning(t *testing.T) {
	t.Parallel()
	results := check.Run(t.Context(), check.Config{
		Pool: storetest.Open(t, newURL(t)), Load: load(t, "INSERT INTO prices\nSELECT @records"), LoadMayWait: true,
	})
	require.Equal(t, check.Warned, named(t, results, "load").State)
	require.NoError(t, check.FirstFailure(results))
}

func named(t *testing.T, results []check.Result, name string) check.Result {
	t.Helper()
	for _, r := range results {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("nothing was looked at as %q in %v", name, results)
	return check.Result{}
}

func listener(t *testing.T, url string) *pgx.ConnConfig {
	t.Helper()
	config, err := db.ParseListen(url)
	require.NoError(t, err)
	return config
}

func TestLoadWhoseConnectionIsLostIsNotBlamed(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	r := check.LookAtLoad(check.Config{Pool: storetest.Open(t, newURL(t)), Load: postgres.BuiltinLoad}, ended)
	require.Equal(t, "the load statement could not be tried, since the connection was lost: try again", r.Finding)
}

func TestDatabaseThatTakesNoSecondConnectionIsNoPlaceForPreparedStatements(t *testing.T) {
	t.Parallel()
	good := storetest.Open(t, newURL(t)).Config()
	config := good.Copy()
	config.ConnConfig.Port = 1
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.Port = good.ConnConfig.Port
		return nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	results := check.Run(t.Context(), check.Config{Pool: pool, Listen: good.ConnConfig, Load: postgres.BuiltinLoad})
	require.Equal(t, check.Failed, named(t, results, "prepared statements").State)
}
