package operation

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
)

// Buffers counts the pages that the statements of an operation touch, as the table grows.
type Buffers struct{}

// Title implements Operation.
func (Buffers) Title() string { return "buffers as the table grows" }

// bufferTries is over how many rows the pages are averaged.
const bufferTries = 20

// Measure implements Operation.
func (o Buffers) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	result := compare.Measured(o.Title(), "")
	for _, read := range []struct {
		of         string
		pick       func(rows int64) (user int, row int64)
		statements []statement
	}{
		{"job by id", seed.Job, []statement{jobStatement}},
		{"lineage of 100 jobs", seed.Lineage, []statement{summaryStatement, pageStatement}},
		{"list of 50 jobs", seed.Position, []statement{listStatement}},
	} {
		curve := compare.Curve{Name: "Buffers of " + read.of + " by rows", X: "rows", Y: "pages"}
		for _, rows := range e.Sizes {
			db, err := e.Database(ctx, rows)
			if err != nil {
				return result, err
			}
			pages, err := e.averageBuffers(ctx, db, func() (int, int64) { return read.pick(rows) }, read.statements...)
			if err != nil {
				return result, err
			}
			curve.Add(float64(rows), pages)
		}
		result.Curves = append(result.Curves, curve)
	}
	return result, nil
}

// averageBuffers explains statements for several rows.
func (e *Env) averageBuffers(
	ctx context.Context, db *Database, pick func() (user int, row int64), statements ...statement,
) (float64, error) {
	conn, err := pgx.Connect(ctx, db.URL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	var sum int
	for range bufferTries {
		user, row := pick()
		texts, err := e.sql(statements...)(seed.OwnerSQL(user), seed.IDSQL(fmt.Sprint(row)))
		if err != nil {
			return 0, err
		}
		for _, sql := range texts {
			pages, err := buffers(ctx, conn, sql)
			if err != nil {
				return 0, err
			}
			sum += pages
		}
	}
	return float64(sum) / bufferTries, nil
}

// buffers runs a statement and counts the pages that it touched, in memory or not.
func buffers(ctx context.Context, conn *pgx.Conn, sql string) (int, error) {
	var text []byte
	if err := conn.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql).Scan(&text); err != nil {
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
