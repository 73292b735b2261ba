package operation

import (
	"context"
	"slices"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/target"
	"fencepost/internal/job"
)

// The names of the targets, in the report and in goals.
const (
	restName         = "REST"
	graphqlName      = "GraphQL"
	postgraphileName = "PostGraphile"
)

// statement is one of the product's, whose parameters are to be filled in.
type statement struct {
	name string
	args func(owner, id string) []string
}

// sql fills in statements for the floor.
func (e *Env) sql(statements ...statement) func(owner, id string) ([]string, error) {
	return func(owner, id string) ([]string, error) {
		var texts []string
		for _, st := range statements {
			text, err := e.SQL.Get(st.name, st.args(owner, id)...)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
		return texts, nil
	}
}

// readFloor runs statements on a row that is picked by a pgbench expression.
func (e *Env) readFloor(db *Database, row string, statements ...statement) compare.Target {
	return &target.Pgbench{Binary: e.Cluster.Pgbench, DatabaseURL: db.URL, Row: row, Statements: e.sql(statements...)}
}

// fuel makes the rows that so many operations use up, and returns the number of the first.
type fuel func(ctx context.Context, ops int64) (first int64, err error)

// A cancellation uses up a pending job, a success a running one, and a submission the mere number of a row.
func pending(db *Database) fuel { return db.Fuel.Pending }
func running(db *Database) fuel { return db.Fuel.Running }
func reserved(db *Database) fuel {
	return func(_ context.Context, ops int64) (int64, error) { return db.Fuel.Reserve(ops), nil }
}

// cancelled counts the jobs of a range of fuel that are cancelled.
func cancelled(db *Database) func(ctx context.Context, first, ops int64) (int64, error) {
	return func(ctx context.Context, first, ops int64) (int64, error) {
		return db.Fuel.Count(ctx, first, ops, job.StatusCancelled)
	}
}

// rest and graphql are the two doors of a database's server; a read ignores the row that it is given.
func rest(db *Database, request func(row int64) target.Request) *target.HTTP {
	return &target.HTTP{Label: restName, Address: db.Server.Address, Request: request}
}

func graphql(db *Database, request func(row int64) target.Request) *target.HTTP {
	return &target.HTTP{Label: graphqlName, Address: db.Server.Address, Request: request}
}

// postgraphile is the peer's only door to a database, or nothing when peers are left out. The first call starts it.
func (e *Env) postgraphile(ctx context.Context, db *Database, request func(row int64) target.Request) ([]compare.Target, error) {
	if !e.Peers {
		return nil, nil
	}
	if e.postGraphile == "" {
		p, address, err := process.StartPostGraphile(ctx, db.URL)
		if err != nil {
			return nil, err
		}
		e.postGraphile = address
		e.closers = append(e.closers, p.Stop)
	}
	return []compare.Target{&target.HTTP{Label: postgraphileName, Address: e.postGraphile, Request: request}}, nil
}

// goals leaves out those whose peer is left out.
func (e *Env) goals(goals ...compare.Goal) []compare.Goal {
	return slices.DeleteFunc(goals, func(g compare.Goal) bool { return g.Under == postgraphileName && !e.Peers })
}
