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
	r := compare.Measured(o.Title(), "")
	for _, door := range []struct {
		name    string
		request func(row int64) target.Request
	}{{restName, largeREST}, {graphqlName, largeGraphQL}} {
		if err := e.bound(ctx, &r, bounded{
			name: "resident memory of serve, 32 clients, payloads of 1 MiB over " + door.name, unit: "MiB", must: 300, aim: 150,
			measure: func(ctx context.Context, e *Env, database string) (float64, string, error) {
				return o.peak(ctx, e, database, door.request)
			},
		}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// peak is the most memory that a server of its own takes, in MiB.
func (Memory) peak(ctx context.Context, e *Env, database string, request func(int64) target.Request) (float64, string, error) {
	db, err := e.Seed(ctx, database, 0, 0)
	if err != nil {
		return 0, "", err
	}
	t := rest(db, request)
	t.Fuel = reserved(db)
	ops := max(e.Timed, 2*load.Clients)
	if err := t.Prepare(ctx, ops); err != nil {
		return 0, "", err
	}
	sample, err := t.Run(ctx, load.Bound{Ops: ops})
	if err != nil {
		return 0, "", err
	}
	bytes, err := db.Server.PeakMemory()
	return float64(bytes) / (1 << 20), sample.FirstError, err
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
