package operation

import (
	"context"
	"fmt"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
	"fencepost/internal/job"
)

// Submit makes jobs of three records.
type Submit struct{}

// Title implements Operation.
func (Submit) Title() string { return "submit" }

var submitStatement = statement{"submitSQL", func(owner, id string) []string {
	payload := "'" + seed.Payload + "'::bytea"
	return []string{owner, id, "sha256(uuid_send(" + id + "))", "sha256(" + payload + ")", payload, fmt.Sprint(seed.RecordCount)}
}}

// Measure implements Operation.
func (o Submit) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	db, err := e.MainDatabase(ctx)
	if err != nil {
		return compare.Result{}, err
	}
	made := func(ctx context.Context, first, ops int64) (int64, error) {
		return db.Fuel.Count(ctx, first, ops, job.StatusPending)
	}
	floor := &target.Pgbench{
		Binary: e.Cluster.Pgbench, DatabaseURL: db.URL, Row: ":next",
		Statements: e.sql(submitStatement), Fuel: reserved(db), Done: made,
	}
	c := compare.Comparison{
		Name: o.Title(), Targets: []compare.Target{floor, submitThroughREST(db)},
		Goals: []compare.Goal{{Name: "REST submit / floor", Over: restName, Under: target.FloorName, Must: 0.50, Aim: 0.65}},
	}
	return c.Run(ctx, e.Writes, e.Cluster.Checkpoint)
}

func submitThroughREST(db *Database) *target.HTTP {
	t := rest(db, restSubmit)
	t.Fuel = reserved(db)
	return t
}

func restSubmit(row int64) target.Request {
	return target.Request{
		User: int(row % seed.Users), Method: "POST", Path: "/api/etl/jobs", Body: seed.Payload,
		Header: "Idempotency-Key", HeaderValue: fmt.Sprintf(`"submit-%d"`, row), Want: `"jobStatus":"PENDING"`,
	}
}
