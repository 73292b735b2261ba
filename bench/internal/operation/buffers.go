package operation

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
)

// Buffers counts the pages that the statements of an operation touch, as the table grows. A cancellation and a submission are each the
// statement for a single one; those that come together share it, and the pages near the root of each index. What a foreign key
// looks up is not counted.
type Buffers struct{}

// Title implements Operation.
func (Buffers) Title() string { return "buffers as the table grows" }

// bufferTries is over how many rows the pages are averaged.
const bufferTries = 20

// explained is an operation whose pages are counted.
type explained struct {
	of string
	// pick picks a row of a database; for a write, it makes a new one.
	pick       func(ctx context.Context, db *Database) (user int, row int64, err error)
	statements []statement
}

// allExplained has what Growth measures the rate of; of an execution, what touches the table of jobs.
var allExplained = []explained{
	{"job by id", seeded(seed.Job), []statement{jobStatement}},
	{"lineage of 100 jobs", seeded(seed.Lineage), []statement{summaryStatement, pageStatement}},
	{"list of 50 jobs", seeded(seed.Position), []statement{listStatement}},
	{"cancel", fresh(1, pending), []statement{cancelStatement}},
	{"submit", fresh(1, reserved), []statement{submitStatement}},
	{fmt.Sprintf("claim of %d jobs", claimedAtOnce), fresh(claimedAtOnce, pending), []statement{claimStatement}},
	{"success", fresh(1, running), []statement{succeedStatement}},
}

// seeded picks one of the rows that are there from the beginning.
func seeded(pick func(rows int64) (user int, row int64)) func(context.Context, *Database) (int, int64, error) {
	return func(_ context.Context, db *Database) (int, int64, error) {
		user, row := pick(db.Rows)
		return user, row, nil
	}
}

// fresh makes new rows and picks the first.
func fresh(count int64, from func(*Database) fuel) func(context.Context, *Database) (int, int64, error) {
	return func(ctx context.Context, db *Database) (int, int64, error) {
		row, err := from(db)(ctx, count)
		return int(row % seed.Users), row, err
	}
}

// Measure implements Operation.
func (o Buffers) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	result := compare.Measured(o.Title(), "")
	for _, x := range allExplained {
		result.Curves = append(result.Curves, compare.Curve{Name: "Buffers of " + x.of + " by rows", X: "rows", Y: "pages"})
	}
	for _, rows := range e.Sizes {
		db, err := e.Database(ctx, rows)
		if err == nil {
			err = db.Fuel.Burn(ctx)
		}
		if err != nil {
			return result, err
		}
		for i, x := range allExplained {
			pages, err := x.average(ctx, e, db)
			if err != nil {
				return result, fmt.Errorf("%s: %w", x.of, err)
			}
			result.Curves[i].Add(float64(rows), pages)
		}
	}
	return result, nil
}

// average counts the pages for several rows.
func (x explained) average(ctx context.Context, e *Env, db *Database) (float64, error) {
	conn, err := pgx.Connect(ctx, db.URL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	var sum int
	for range bufferTries {
		user, row, err := x.pick(ctx, db)
		if err != nil {
			return 0, err
		}
		texts, err := sql(x.statements...)(seed.OwnerSQL(user), []string{seed.IDSQL(fmt.Sprint(row))})
		if err != nil {
			return 0, err
		}
		pages, err := buffers(ctx, conn, texts)
		if err != nil {
			return 0, err
		}
		sum += pages
	}
	return float64(sum) / bufferTries, nil
}

// buffers runs statements in a transaction that is rolled back, and counts the pages that they touched, in memory or not.
func buffers(ctx context.Context, conn *pgx.Conn, statements []string) (sum int, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx) //nolint:errcheck // nothing is to remain; a lost connection shows in the next statement
	for _, sql := range statements {
		pages, err := explain(ctx, tx, sql)
		if err != nil {
			return 0, err
		}
		sum += pages
	}
	return sum, nil
}

func explain(ctx context.Context, tx pgx.Tx, sql string) (int, error) {
	var text []byte
	if err := tx.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql).Scan(&text); err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil {
		return 0, err
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read, nil
}
