package operation

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// List reads a page of 50 jobs at any place of an owner's list.
type List struct{}

// Title implements Operation.
func (List) Title() string { return "list of 50 jobs" }

var listStatement = statement{"list", func(owner string, ids []string) map[string]string {
	return map[string]string{"owner": owner, "before": ids[0], "limit": "51"}
}}

// Measure implements Operation.
func (o List) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	db, err := e.MainDatabase(ctx)
	if err != nil {
		return compare.Result{}, err
	}
	throughREST, err := restList(ctx, db)
	if err != nil {
		return compare.Result{}, err
	}
	return e.measure(ctx, contest{
		title: o.Title(), of: "list of 50", db: db, plan: e.Reads,
		floor: e.readFloor(db, seed.PositionRow(db.Rows), listStatement), doors: []*target.HTTP{throughREST},
	})
}

func restList(ctx context.Context, db *Database) (*target.HTTP, error) {
	prefix, err := cursorPrefix(ctx, db)
	return rest(db, func(int64) target.Request {
		user, row := seed.Position(db.Rows)
		return listRequest(user, prefix, row)
	}), err
}

// listRequest asks for the page behind a row.
func listRequest(user int, prefix []byte, row int64) target.Request {
	id := seed.ID(row)
	cursor := base64.RawURLEncoding.EncodeToString(append(bytes.Clone(prefix), id[:]...))
	return target.Request{User: user, Method: "GET", Path: "/api/etl/jobs?limit=50&cursor=" + cursor, Want: `"nextCursor"`}
}

// cursorPrefix learns from a real cursor what stands before the id in every cursor of the same list.
func cursorPrefix(ctx context.Context, db *Database) ([]byte, error) {
	body, err := send(ctx, db.Server.Address, target.Request{Method: "GET", Path: "/api/etl/jobs?limit=50"})
	if err != nil {
		return nil, err
	}
	var page struct{ NextCursor string }
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		return nil, err
	}
	cursor, err := base64.RawURLEncoding.DecodeString(page.NextCursor)
	if err == nil && len(cursor) <= len(seed.ID(0)) {
		err = errors.New("the first page has no cursor that ends in an id")
	}
	if err != nil {
		return nil, err
	}
	return cursor[:len(cursor)-len(seed.ID(0))], nil
}
