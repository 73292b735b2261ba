package operation

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// List reads a page of 50 jobs at any place of an owner's list.
type List struct{}

// Title implements Operation.
func (List) Title() string { return "list of 50 jobs" }

var listStatement = statement{"listSQL", func(owner, id string) []string {
	return []string{owner, "NULL", "NULL", "NULL", "NULL", "NULL", id, "51"}
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
	c := compare.Comparison{Name: o.Title(), Targets: []compare.Target{
		e.readFloor(db, seed.PositionRow(db.Rows), listStatement), throughREST,
	}}
	return c.Run(ctx, e.Reads, e.Cluster.Checkpoint)
}

func restList(ctx context.Context, db *Database) (*target.HTTP, error) {
	prefix, err := cursorPrefix(ctx, db)
	return rest(db, func(int64) target.Request {
		user, row := seed.Position(db.Rows)
		id := seed.ID(row)
		cursor := base64.RawURLEncoding.EncodeToString(append(bytes.Clone(prefix), id[:]...))
		return target.Request{User: user, Method: "GET", Path: "/api/etl/jobs?limit=50&cursor=" + cursor, Want: `"nextCursor"`}
	}), err
}

// cursorPrefix learns from a real cursor what stands before the id in every cursor of the same list.
func cursorPrefix(ctx context.Context, db *Database) ([]byte, error) {
	url := fmt.Sprintf("http://%s/api/etl/jobs?limit=50", db.Server.Address)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(seed.UserName(0), process.Password)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var page struct{ NextCursor string }
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
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
