package graph

import (
	"fencepost/graph/generated"
	"fencepost/graph/guard"
	"fencepost/graph/model"
	"fencepost/internal/job"
)

// lineageCost is what loading a lineage costs by itself: a tenth of [guard.MaxCost] for twenty of them.
const lineageCost = 250

// costs tells what a field costs, given the cost of what is selected below it: a list costs its greatest length times that.
// Every other field costs 1.
func costs() generated.ComplexityRoot {
	var c generated.ComplexityRoot
	c.Query.Jobs = func(child int, _ *model.JobFilter, first *int32, _ *string) int {
		return pageCost(child, first, job.DefaultPageSize)
	}
	c.Query.JobStatusCounts = func(child int, _ *model.JobFilter) int { return guard.ListCost(child, len(job.Statuses)) }
	c.Query.Lineage = func(child int, _ string) int { return lineageCost + child }
	c.Subscription.LineageChanged = func(child int, _ string) int { return lineageCost + child }
	c.Job.Lineage = func(child int) int { return lineageCost + child }
	c.Job.Replays = func(child int, first *int32, _ *string) int { return pageCost(child, first, defaultReplays) }
	c.Lineage.Jobs = func(child int, first *int32, _ *string) int { return pageCost(child, first, defaultLineageJobs) }
	c.Lineage.Ancestry = func(child int) int { return guard.ListCost(child, job.MaxGeneration+1) }
	c.Lineage.Edges = func(child int) int { return guard.ListCost(child, job.MaxLineageJobs) }
	c.Lineage.StatusCounts = func(child int) int { return guard.ListCost(child, len(job.Statuses)) }
	c.Lineage.Provenance = func(child int) int { return guard.ListCost(child, job.MaxLineageJobs) }
	c.Lineage.Mermaid = func(child int) int { return guard.ListCost(child, job.MaxLineageJobs) }
	return c
}

// pageCost takes a page size that the service will refuse for one that it accepts.
func pageCost(child int, first *int32, fallback int) int {
	size := pageRequest(first, fallback, nil).Limit
	return guard.ListCost(child, min(max(size, 1), job.MaxPageSize))
}
