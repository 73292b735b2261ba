// Package check looks, before anything is served or run, for what would fail job after job: a database in another encoding, a pooler that
// loses statements, a privilege that is missing. Each finding is one sentence, with what to do.
package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/notice"
	"fencepost/internal/postgres/schema"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

// State says how a check went.
type State string

// The states of a check.
const (
	// Passed: it is as it has to be.
	Passed State = "ok"
	// Warned: it can be lived with.
	Warned State = "warning"
	// Failed: nothing should be served or run.
	Failed State = "failed"
)

// Result is what one check found.
type Result struct {
	// Name says what was looked at.
	Name string `json:"name"`
	// State is how it went.
	State State `json:"state"`
	// Finding says what is wrong and what to do, or is "".
	Finding string `json:"finding,omitempty"`
}

// Config says what to look at.
type Config struct {
	// Pool is the database, as requests and workers use it.
	Pool *pgxpool.Pool
	// Listen is how notices are listened for; nil means like the pool.
	Listen *pgx.ConnConfig
	// Load is what jobs run.
	Load postgres.Load
	// LoadMayWait makes a load that does not fit a warning: its table may be made yet, and until then the load is closed.
	LoadMayWait bool
}

// longestSkew is how far the clocks of the server and of this process may be apart.
const longestSkew = time.Minute

// patience bounds each check.
const patience = 5 * time.Second

// Run makes all checks, in the order in which one depends on another. When the database cannot be reached there is but one result.
func Run(ctx context.Context, c Config) []Result {
	if c.Listen == nil {
		c.Listen = c.Pool.Config().ConnConfig
	}
	facts, err := c.facts(ctx)
	if err != nil {
		return []Result{failed("database", "the database cannot be reached: look at the address, the name and the password in --database-url")}
	}
	results := []Result{passed("database"), facts.encoding(), facts.version(), facts.writable(), facts.clock()}
	looks := []func(context.Context) Result{c.schema, c.privileges, c.load, c.preparedStatements}
	if !facts.readOnly { // a standby sends none
		looks = append(looks, c.notices)
	}
	for _, look := range looks {
		bounded, cancel := context.WithTimeout(ctx, patience)
		results = append(results, look(bounded))
		cancel()
	}
	return results
}

// FirstFailure is an error with the first finding that forbids to serve or run, or nil.
func FirstFailure(results []Result) error {
	for _, r := range results {
		if r.State == Failed {
			return errors.New(r.Finding)
		}
	}
	return nil
}

func passed(name string) Result { return Result{Name: name, State: Passed} }

func warned(name, finding string) Result { return Result{name, Warned, finding} }

func failed(name, finding string) Result { return Result{name, Failed, finding} }

// facts are what the server says of itself.
type facts struct {
	serverEncoding string
	versionNumber  int
	at             time.Time
	readOnly       bool
	asked          time.Time
}

var serverFactsSQL, missingPrivilegesSQL = statements.Named("server facts"), statements.Named("missing privileges")

func (c Config) facts(ctx context.Context) (f facts, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = db.Send(ctx, c.Pool, db.Row(serverFactsSQL, nil, func(row pgx.Row) error {
		return row.Scan(&f.serverEncoding, &f.versionNumber, &f.at, &f.readOnly)
	}))
	f.asked = time.Now()
	return f, err
}

func (f facts) encoding() Result {
	if f.serverEncoding != "UTF8" {
		return failed("encoding", fmt.Sprintf("the database has the encoding %s, which cannot hold every batch: make one with ENCODING 'UTF8'", f.serverEncoding))
	}
	return passed("encoding")
}

// The versions of PostgreSQL, as it numbers them, that the program was tried with.
const oldestServer, newestServer = 15, 18

func (f facts) version() Result {
	switch major := f.versionNumber / 10_000; {
	case major < oldestServer:
		return failed("version", fmt.Sprintf("the database is PostgreSQL %d: upgrade it to %d or later", major, oldestServer))
	case major > newestServer:
		return warned("version", fmt.Sprintf("the database is PostgreSQL %d, and this program was tried with %d to %d", major, oldestServer, newestServer))
	default:
		return passed("version")
	}
}

func (f facts) writable() Result {
	if f.readOnly {
		return warned("writable", "the database is read-only, as a standby is: name the primary in --database-url")
	}
	return passed("writable")
}

func (f facts) clock() Result {
	if skew := f.asked.Sub(f.at); skew.Abs() > longestSkew {
		return warned("clock", fmt.Sprintf("the clocks of the database and of this machine are %v apart: set them by NTP", skew.Abs().Round(time.Second)))
	}
	return passed("clock")
}

// schema wants exactly the version that this program knows.
func (c Config) schema(ctx context.Context) Result {
	err := schema.Check(ctx, c.Pool)
	if unfit, is := errors.AsType[*schema.Error](err); is {
		return failed("schema", unfit.Error())
	}
	if err != nil {
		return failed("schema", "the version of the schema cannot be read: grant SELECT on goose_db_version to the role, as deploy/roles/grants.sql does")
	}
	return passed("schema")
}

// privileges wants what deploy/roles gives to the server's role. On a schema of another version there is nothing to look at.
func (c Config) privileges(ctx context.Context) Result {
	var tables []string
	err := db.Send(ctx, c.Pool, db.Rows(missingPrivilegesSQL, statements.Args{"builtin_load": c.Load.Builtin()}, &tables, pgx.RowTo[string]))
	switch {
	case err != nil:
		return failed("privileges", "the privileges of the role cannot be looked at: migrate the schema first")
	case len(tables) > 0:
		return failed("privileges", fmt.Sprintf("the role lacks privileges on %s: run deploy/roles/grants.sql", strings.Join(tables, ", ")))
	default:
		return passed("privileges")
	}
}

// load wants the statement of the jobs to fit the database.
func (c Config) load(ctx context.Context) Result {
	err := postgres.Prepare(ctx, c.Pool, c.Load)
	fault, ofLoad := errors.AsType[*worker.LoadError](err)
	switch {
	case !ofLoad && err != nil:
		return failed("load", "the load statement could not be tried, since the connection was lost: try again")
	case ofLoad:
		return c.misfit(fault)
	default:
		return passed("load")
	}
}

func (c Config) misfit(fault *worker.LoadError) Result {
	finding := "the load statement does not fit the database: SQLSTATE " + fault.SQLState
	if fault.Place != "" {
		finding += fmt.Sprintf(" at %s of its file", fault.Place)
	}
	if c.LoadMayWait {
		return warned("load", finding)
	}
	return failed("load", finding)
}

// preparedStatements wants one to outlive its transaction. Behind a pooler that shares servers among clients by transaction, it is on
// the server of the first transaction, which another connection takes meanwhile.
func (c Config) preparedStatements(ctx context.Context) Result {
	if c.Pool.Config().ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return passed("prepared statements") // none are prepared by name
	}
	if c.Pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return c.keepsStatements(ctx, conn.Conn().PgConn()) }) != nil {
		return failed("prepared statements", "a pooler between here and the database loses prepared statements: "+
			"add default_query_exec_mode=cache_describe to --database-url, or set max_prepared_statements in PgBouncer 1.21 or later")
	}
	return passed("prepared statements")
}

func (c Config) keepsStatements(ctx context.Context, conn *pgconn.PgConn) error {
	other, err := pgx.ConnectConfig(ctx, c.Pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	const name = "fencepost_check"
	_, err = conn.Prepare(ctx, name, "SELECT 1", nil)
	return errors.Join(err,
		other.PgConn().Exec(ctx, "BEGIN").Close(),
		conn.ExecPrepared(ctx, name, nil, nil, nil).Read().Err,
		conn.Deallocate(ctx, name),
		other.Close(context.WithoutCancel(ctx)))
}

// notices wants a notification to be heard.
func (c Config) notices(ctx context.Context) Result {
	if !notice.Heard(ctx, c.Pool, c.Listen, uuid.NewString()) {
		return failed("notices", "no notice is heard, as through a pooler that shares sessions: name the database itself in --listen-url")
	}
	return passed("notices")
}
