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

var submitStatement = statement{"submit", func(owner string, ids []string) map[string]string {
	const payload = "'" + seed.Payload + "'::bytea"
	return with(ofRows(owner, ids), map[string]string{
		"key_hashes": each(ids, "sha256(uuid_send(%s))"), "digests": each(ids, "sha256("+payload+")"), "payloads": each(ids, payload),
		"record_counts": each(ids, fmt.Sprint(seed.RecordCount)), "trace_parents": each(ids, "''"),
	})
}}

// Measure implements Operation.
func (o Submit) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	db, err := e.MainDatabase(ctx)
	if err != nil {
		return compare.Result{}, err
	}
	return e.measure(ctx, contest{
		title: o.Title(), of: "submit", db: db, plan: e.Writes,
		floor: e.writeFloor(db, submitStatement, reserved(db), job.StatusPending), shared: submitStatement,
		doors: []*target.HTTP{submitThroughREST(db)},
		goals: []compare.Goal{{Name: "REST submit / floor", Over: restName, Under: target.FloorName, Must: 0.50, Aim: 0.65}},
	})
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
