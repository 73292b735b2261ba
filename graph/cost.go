package graph

import (
	"context"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"fencepost/graph/generated"
	"fencepost/graph/model"
	"fencepost/internal/job"
)

// maxCost is about how many values an operation may ask for. It lets a page draw the largest lineage, each of whose edges has
// some five values, and nothing that nests one such list in another.
const maxCost = 50_000

// lineageCost is what loading a lineage costs by itself: a tenth of maxCost for twenty of them.
const lineageCost = 250

// costs tells what a field costs, given the cost of what is selected below it: a list costs its greatest length times that.
// Every other field costs 1.
func costs() generated.ComplexityRoot {
	var c generated.ComplexityRoot
	c.Query.Jobs = func(child int, _ *model.JobFilter, first *int32, _ *string) int {
		return pageCost(child, first, job.DefaultPageSize)
	}
	c.Query.JobStatusCounts = func(child int, _ *model.JobFilter) int { return listCost(child, len(job.Statuses)) }
	c.Query.Lineage = func(child int, _ string) int { return lineageCost + child }
	c.Subscription.LineageChanged = func(child int, _ string) int { return lineageCost + child }
	c.Job.Lineage = func(child int) int { return lineageCost + child }
	c.Job.Replays = func(child int, first *int32, _ *string) int { return pageCost(child, first, defaultReplays) }
	c.Lineage.Jobs = func(child int, first *int32, _ *string) int { return pageCost(child, first, defaultLineageJobs) }
	c.Lineage.Ancestry = func(child int) int { return listCost(child, job.MaxGeneration+1) }
	c.Lineage.Edges = func(child int) int { return listCost(child, job.MaxLineageJobs) }
	c.Lineage.StatusCounts = func(child int) int { return listCost(child, len(job.Statuses)) }
	c.Lineage.Provenance = func(child int) int { return listCost(child, job.MaxLineageJobs) }
	c.Lineage.Mermaid = func(child int) int { return listCost(child, job.MaxLineageJobs) }
	return c
}

// pageCost takes a page size that the service will refuse for one that it accepts.
func pageCost(child int, first *int32, fallback int) int {
	size := pageRequest(first, fallback, nil).Limit
	return listCost(child, min(max(size, 1), job.MaxPageSize))
}

// listCost saturates, because nested lists multiply.
func listCost(child, length int) int { return add(1, min(max(child, 1), 1<<30)*length) }

// checkCost refuses an operation over maxCost. gqlgen's own limit tells the two numbers in its text alone.
func checkCost(ctx context.Context, schema graphql.ExecutableSchema, op *graphql.OperationContext) *gqlerror.Error {
	if cost := complexity.Calculate(ctx, schema, op.Operation, op.Variables); cost > maxCost {
		return tooComplex("cost", cost, maxCost)
	}
	return nil
}
