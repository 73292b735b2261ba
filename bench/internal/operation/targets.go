package operation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/target"
	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
)

// The names of the targets, in the report and in goals.
const (
	restName         = "REST"
	graphqlName      = "GraphQL"
	postgraphileName = "PostGraphile"
)

// statement is one of the product's.
type statement struct {
	name string
	// args are SQL expressions for its parameters, by name. They are about rows of one owner.
	args func(owner string, ids []string) map[string]string
}

// sql fills in statements.
func sql(wanted ...statement) func(owner string, ids []string) ([]string, error) {
	return func(owner string, ids []string) ([]string, error) {
		var texts []string
		for _, st := range wanted {
			texts = append(texts, filled(statements.Named(st.name), st.args(owner, ids)))
		}
		return texts, nil
	}
}

// filled is a statement with SQL expressions in the places of its parameters, from the last one, so that $1 is not found in $10.
func filled(s statements.Statement, args map[string]string) string {
	for i, name := range slices.Backward(s.Params) {
		s.SQL = strings.ReplaceAll(s.SQL, fmt.Sprintf("$%d", i+1), "("+args[name]+")")
	}
	return s.SQL
}

// ofRow are the parameters of a statement about one row, and ofRows those of one about several.
func ofRow(owner string, ids []string) map[string]string {
	return map[string]string{"owner": owner, "id": ids[0]}
}

func ofRows(owner string, ids []string) map[string]string {
	return map[string]string{"owners": each(ids, owner), "ids": each(ids, "%s")}
}

// each is an array with an expression for each id; %s in it is the id.
func each(ids []string, expression string) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = strings.ReplaceAll(expression, "%s", id)
	}
	return "ARRAY[" + strings.Join(all, ", ") + "]"
}

// with adds parameters.
func with(args map[string]string, further map[string]string) map[string]string {
	maps.Copy(args, further)
	return args
}

// readFloor runs statements on a row that is picked by a pgbench expression.
func (e *Env) readFloor(db *Database, row string, statements ...statement) *target.Pgbench {
	return &target.Pgbench{Binary: e.Cluster.Pgbench, DatabaseURL: db.URL, Row: row, Statements: sql(statements...)}
}

// writeFloor runs a statement on rows that it uses up.
func (e *Env) writeFloor(db *Database, st statement, from fuel, to job.Status) *target.Pgbench {
	return &target.Pgbench{
		Binary: e.Cluster.Pgbench, DatabaseURL: db.URL, Statements: sql(st), Fuel: from,
		Done: func(ctx context.Context, first, ops int64) (int64, error) { return db.Fuel.Count(ctx, first, ops, to) },
	}
}

// fuel makes the rows that so many operations use up, and returns the number of the first.
type fuel func(ctx context.Context, ops int64) (first int64, err error)

// A cancellation uses up a pending job, a success a running one, and a submission the mere number of a row.
func pending(db *Database) fuel { return db.Fuel.Pending }
func running(db *Database) fuel { return db.Fuel.Running }
func reserved(db *Database) fuel {
	return func(_ context.Context, ops int64) (int64, error) { return db.Fuel.Reserve(ops), nil }
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
