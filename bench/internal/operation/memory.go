package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// Memory submits payloads of 1 MiB from all clients at once.
type Memory struct{}

// Title implements Operation.
func (Memory) Title() string { return "memory" }

// largePayload is a batch of 1,000 records, just below the default limit of 1 MiB.
var largePayload = func() string {
	records := make([]string, 1000)
	for i := range records {
		records[i] = fmt.Sprintf(`{"id":"record-%04d","text":%q}`, i, strings.Repeat("x", 1010))
	}
	return "[" + strings.Join(records, ",") + "]"
}()

// Measure implements Operation.
func (o Memory) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	url, err := e.Empty(ctx, "memory")
	if err != nil {
		return compare.Result{}, err
	}
	db := &Database{URL: url, Fuel: seed.NewFuel(url)}
	result := compare.Measured(o.Title(), "")
	for _, door := range []struct {
		name    string
		request func(row int64) target.Request
	}{{restName, largeREST}, {graphqlName, largeGraphQL}} {
		mebibytes, sample, err := o.peak(ctx, e, db, door.request)
		if err != nil {
			return result, err
		}
		if sample.Errors+sample.Misses > 0 {
			result.Void = sample.FirstError
		}
		result.Goals = append(result.Goals, compare.AtMost(
			"resident memory of serve, 32 clients, payloads of 1 MiB over "+door.name, "MiB", 300, 150, mebibytes))
	}
	return result, nil
}

// peak is the most memory that a server of its own takes, in MiB.
func (Memory) peak(ctx context.Context, e *Env, db *Database, request func(int64) target.Request) (float64, load.Sample, error) {
	server, err := e.Fencepost.Serve(ctx, db.URL, e.ServeFlags...)
	if err != nil {
		return 0, load.Sample{}, err
	}
	defer server.Stop() //nolint:errcheck // its memory is known by then
	t := &target.HTTP{Label: "memory", Address: server.Address, Request: request}
	t.Fuel = func(_ context.Context, ops int64) (int64, error) { return db.Fuel.Reserve(ops), nil }
	ops := max(e.Timed, 2*load.Clients)
	if err := t.Prepare(ctx, ops); err != nil {
		return 0, load.Sample{}, err
	}
	sample, err := t.Run(ctx, load.Bound{Ops: ops})
	if err != nil {
		return 0, sample, err
	}
	bytes, err := server.PeakMemory()
	return float64(bytes) / (1 << 20), sample, err
}

func largeREST(row int64) target.Request {
	r := restSubmit(row)
	r.Body = largePayload
	return r
}

const submitDocument = `mutation Submit($input: SubmitJobInput!) { submitJob(input: $input) {
	... on SubmitJobSuccess { job { id status } }
	... on Problem { code detail } } }`

// quotedPayload is the payload as a JSON string.
var quotedPayload = func() string {
	text, err := json.Marshal(largePayload)
	if err != nil {
		panic(err) // a string can always be written
	}
	return string(text)
}()

func largeGraphQL(row int64) target.Request {
	variables := fmt.Sprintf(`{"input":{"idempotencyKey":"submit-%d","requestPayload":%s}}`, row, quotedPayload)
	return target.GraphQL(int(row%seed.Users), submitDocument, variables, `"status":"PENDING"`)
}
