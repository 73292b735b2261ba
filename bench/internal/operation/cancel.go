package operation

import (
	"context"
	"fmt"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
	"fencepost/internal/job"
)

// Cancel cancels jobs that are pending, each once.
type Cancel struct{}

// Title implements Operation.
func (Cancel) Title() string { return "cancel" }

var cancelStatement = statement{"cancel", func(owner string, ids []string) map[string]string {
	return with(ofRows(owner, ids), map[string]string{
		"key_hashes": each(ids, "sha256('key'::bytea)"), "reasons": each(ids, "'"+job.CancellationByOwner+"'"),
	})
}}

// Measure implements Operation.
func (o Cancel) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	db, err := e.MainDatabase(ctx)
	if err != nil {
		return compare.Result{}, err
	}
	peer, err := e.postgraphile(ctx, db, postgraphileCancel)
	if err != nil {
		return compare.Result{}, err
	}
	return e.measure(ctx, contest{
		title: o.Title(), of: "cancel", db: db, plan: e.Writes,
		floor: e.writeFloor(db, cancelStatement, db.Fuel.Pending, job.StatusCancelled), shared: cancelStatement,
		doors: []*target.HTTP{cancelThroughREST(db), fuelled(db, graphql(db, graphqlCancel))},
		peers: fuelledAll(db, peer),
		goals: e.goals(
			compare.Goal{Name: "REST cancel / floor", Over: restName, Under: target.FloorName, Must: 0.55, Aim: 0.75},
			compare.Goal{Name: "GraphQL cancel / floor", Over: graphqlName, Under: target.FloorName, Must: 0.45, Aim: 0.60},
			compare.Goal{Name: "GraphQL cancel / PostGraphile with 2 workers", Over: graphqlName, Under: postgraphileName, Must: 2.5, Aim: 4},
		),
	})
}

func cancelThroughREST(db *Database) *target.HTTP { return fuelled(db, rest(db, restCancel)) }

// fuelled lets a target use up pending jobs.
func fuelled(db *Database, t *target.HTTP) *target.HTTP {
	t.Fuel = db.Fuel.Pending
	return t
}

func fuelledAll(db *Database, targets []compare.Target) []compare.Target {
	for _, t := range targets {
		fuelled(db, t.(*target.HTTP)) //nolint:forcetypeassert // it has no other kind
	}
	return targets
}

func restCancel(row int64) target.Request {
	return target.Request{
		User: int(row % seed.Users), Method: "POST", Path: "/api/etl/jobs/" + seed.ID(row).String() + "/cancellation",
		Header: "Idempotency-Key", HeaderValue: fmt.Sprintf(`"cancel-%d"`, row), Want: `"jobStatus":"CANCELLED"`,
	}
}

const cancelDocument = `mutation Cancel($input: CancelJobInput!) { cancelJob(input: $input) {
	... on CancelJobSuccess { idempotencyReplayed job {
		id status attemptCount recordCount cancellationCode createdAt updatedAt cancelledAt } }
	... on Problem { code detail } } }`

func graphqlCancel(row int64) target.Request {
	variables := fmt.Sprintf(`{"input":{"jobRecordId":%q,"idempotencyKey":"cancel-%d"}}`, seed.ID(row), row)
	return target.GraphQL(int(row%seed.Users), cancelDocument, variables, `"status":"CANCELLED"`)
}

const postgraphileCancelDocument = `mutation Cancel($owner: String!, $id: UUID!, $key: String!) {
	cancelJob(input: {owner: $owner, id: $id, key: $key}) { etlJobRecord {
		jobRecordId jobStatus attemptCount recordCount cancellationCode createdAt updatedAt jobCancelledAt } } }`

func postgraphileCancel(row int64) target.Request {
	user := int(row % seed.Users)
	variables := fmt.Sprintf(`{"owner":%q,"id":%q,"key":"cancel-%d"}`, seed.OwnerHex(user), seed.ID(row), row)
	return target.GraphQL(user, postgraphileCancelDocument, variables, `"jobStatus":"CANCELLED"`)
}
