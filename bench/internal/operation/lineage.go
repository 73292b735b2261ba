package operation

import (
	"context"
	"fmt"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// Lineage reads a whole lineage of 100 jobs, asked for by any of them.
type Lineage struct{}

// Title implements Operation.
func (Lineage) Title() string { return "lineage of 100 jobs" }

// The two statements of a lineage's first page.
var (
	summaryStatement = statement{"lineage summary", ofRow}
	pageStatement    = statement{"lineage page", func(owner string, ids []string) map[string]string {
		return with(ofRow(owner, ids), map[string]string{
			"after_generation": "0", "after_id": "'00000000-0000-0000-0000-000000000000'::uuid", "limit": "101",
		})
	}}
)

// Measure implements Operation.
func (o Lineage) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	db, err := e.MainDatabase(ctx)
	if err != nil {
		return compare.Result{}, err
	}
	peer, err := e.postgraphile(ctx, db, func(int64) target.Request { return postgraphileLineage(db.Rows) })
	if err != nil {
		return compare.Result{}, err
	}
	return e.measure(ctx, contest{
		title: o.Title(), of: "lineage of 100", db: db, plan: e.Reads,
		floor: e.readFloor(db, seed.LineageRow(db.Rows), summaryStatement, pageStatement),
		doors: []*target.HTTP{restLineage(db), graphql(db, func(int64) target.Request { return graphqlLineage(db.Rows) })},
		peers: peer,
		goals: e.goals(
			compare.Goal{Name: "GraphQL lineage of 100 / REST lineage of 100", Over: graphqlName, Under: restName, Must: 0.45, Aim: 0.70},
			compare.Goal{
				Name: "GraphQL lineage of 100 / PostGraphile with 2 workers",
				Over: graphqlName, Under: postgraphileName, Must: 1, Aim: 1.5,
			},
		),
	})
}

func restLineage(db *Database) *target.HTTP {
	return rest(db, func(int64) target.Request {
		user, row := seed.Lineage(db.Rows)
		path := "/api/etl/jobs/" + seed.ID(row).String() + "/lineage?limit=100"
		return target.Request{User: user, Method: "GET", Path: path, Want: `"jobCount":100,`}
	})
}

// lineageDocument asks for what REST answers with: each job's status, and the edges.
const lineageDocument = `query Lineage($id: ID!) { lineage(jobRecordId: $id) {
	jobCount generationCount
	jobs(first: 100) { nodes {
		id status attemptCount recordCount failureCode cancellationCode createdAt updatedAt cancelledAt replayGeneration } }
	edges { source { id } derived { id } generation } } }`

func graphqlLineage(rows int64) target.Request {
	user, row := seed.Lineage(rows)
	return target.GraphQL(user, lineageDocument, fmt.Sprintf(`{"id":%q}`, seed.ID(row)), `"jobCount":100,`)
}

// postgraphileLineageDocument asks for the same; there, the edges are columns of the jobs. It does not ask for the total, for
// which PostGraphile would read the lineage twice.
const postgraphileLineageDocument = `query Lineage($owner: String!, $id: UUID!) { lineage(owner: $owner, id: $id, first: 100) {
	nodes { jobRecordId jobStatus attemptCount recordCount failureCode cancellationCode createdAt updatedAt jobCancelledAt
		replaySourceJobRecordId replayRootJobRecordId replayGenerationCount } } }`

func postgraphileLineage(rows int64) target.Request {
	user, row := seed.Lineage(rows)
	variables := fmt.Sprintf(`{"owner":%q,"id":%q}`, seed.OwnerHex(user), seed.ID(row))
	return target.GraphQL(user, postgraphileLineageDocument, variables, fmt.Sprintf(`"replayGenerationCount":%d`, seed.LineageGenerations-1))
}
