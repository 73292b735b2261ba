package operation

import (
	"context"
	"fmt"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// JobByID reads one job.
type JobByID struct{}

// Title implements Operation.
func (JobByID) Title() string { return "job by id" }

// jobStatement reads jobs, as both doors do.
var jobStatement = statement{"jobs", ofRows}

// Measure implements Operation.
func (o JobByID) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	db, err := e.MainDatabase(ctx)
	if err != nil {
		return compare.Result{}, err
	}
	peer, err := e.postgraphile(ctx, db, func(int64) target.Request { return postgraphileJob(db.Rows) })
	if err != nil {
		return compare.Result{}, err
	}
	return e.measure(ctx, contest{
		title: o.Title(), of: "job", db: db, plan: e.Reads,
		floor: e.readFloor(db, seed.JobRow(db.Rows), jobStatement),
		doors: []*target.HTTP{restJob(db), graphql(db, func(int64) target.Request { return graphqlJob(db.Rows) })},
		peers: peer,
		goals: e.goals(
			compare.Goal{Name: "REST job / floor", Over: restName, Under: target.FloorName, Must: 0.45, Aim: 0.60},
			compare.Goal{Name: "GraphQL job / floor", Over: graphqlName, Under: target.FloorName, Must: 0.33, Aim: 0.45},
			compare.Goal{Name: "GraphQL job / PostGraphile with 2 workers", Over: graphqlName, Under: postgraphileName, Must: 2, Aim: 3},
		),
	})
}

func restJob(db *Database) *target.HTTP {
	return rest(db, func(int64) target.Request {
		user, row := seed.Job(db.Rows)
		return jobRequest(user, row)
	})
}

func jobRequest(user int, row int64) target.Request {
	id := seed.ID(row).String()
	return target.Request{User: user, Method: "GET", Path: "/api/etl/jobs/" + id, Want: id}
}

const jobDocument = `query Job($id: ID!) { job(jobRecordId: $id) {
	id status attemptCount recordCount failureCode cancellationCode createdAt updatedAt cancelledAt replayGeneration } }`

func graphqlJob(rows int64) target.Request {
	user, row := seed.Job(rows)
	id := seed.ID(row).String()
	return target.GraphQL(user, jobDocument, fmt.Sprintf(`{"id":%q}`, id), id)
}

const postgraphileJobDocument = `query Job($owner: String!, $id: UUID!) { jobById(owner: $owner, id: $id) {
	jobRecordId jobStatus attemptCount recordCount failureCode cancellationCode createdAt updatedAt jobCancelledAt replayGenerationCount } }`

func postgraphileJob(rows int64) target.Request {
	user, row := seed.Job(rows)
	id := seed.ID(row).String()
	return target.GraphQL(user, postgraphileJobDocument, fmt.Sprintf(`{"owner":%q,"id":%q}`, seed.OwnerHex(user), id), id)
}
