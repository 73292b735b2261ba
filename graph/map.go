package graph

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"fencepost/graph/model"
	"fencepost/internal/job"
	"fencepost/jobtype"
)

// The page sizes when the client says `first: null`; the schema has the same defaults for saying nothing.
const (
	defaultReplays     = 20
	defaultLineageJobs = 100
	defaultAttempts    = 20
)

func toJob(j job.Job) *model.Job {
	return &model.Job{
		ID:                   j.ID.String(),
		Status:               model.JobStatus(j.Status),
		AttemptCount:         toInt(j.AttemptCount),
		RecordCount:          toInt(j.RecordCount),
		FailureCode:          optional(string(j.FailureCode)),
		CancellationCode:     optional(j.CancellationCode),
		FailureSQLState:      optional(j.FailureSQLState),
		FailureCondition:     optional(j.FailureCondition()),
		FailureRecordOrdinal: optional(toInt(j.FailureRecordOrdinal)),
		FailureConstraint:    optional(j.FailureConstraint),
		AttemptStartedAt:     optional(j.AttemptStartedAt),
		CreatedAt:            j.CreatedAt,
		UpdatedAt:            j.UpdatedAt,
		CancelledAt:          optional(j.CancelledAt),
		ReplayGeneration:     toInt(j.Generation()),
		CanCancel:            j.CancelProblem() == "",
		CancelProblem:        optional(toEnum[model.ProblemCode](j.CancelProblem())),
		CanReplay:            j.ReplayProblem() == "",
		ReplayProblem:        optional(toEnum[model.ProblemCode](j.ReplayProblem())),
		Record:               j,
	}
}

func toJobs(jobs []job.Job) []*model.Job {
	models := make([]*model.Job, len(jobs))
	for i, j := range jobs {
		models[i] = toJob(j)
	}
	return models
}

func toLineage(l job.Lineage) *model.Lineage {
	return &model.Lineage{
		Root:            toJob(l.Root()),
		Job:             toJob(l.Job()),
		GenerationCount: toInt(l.GenerationCount),
		JobCount:        toInt(l.JobCount()),
		StatusCounts:    toStatusCounts(exactly(l.StatusCounts)),
		Truncated:       l.Truncated,
		Record:          l,
	}
}

// active reports whether a job of the lineage can still change.
func active(l job.Lineage) bool {
	return l.StatusCounts[job.StatusPending]+l.StatusCounts[job.StatusRunning] > 0
}

// toEdges takes both ends of each edge from the jobs of the lineage, which hold every source before what it became.
func toEdges(jobs []job.Job) []*model.LineageEdge {
	byID := make(map[uuid.UUID]*model.Job, len(jobs))
	for _, j := range jobs {
		byID[j.ID] = toJob(j)
	}
	edges := []*model.LineageEdge{}
	for _, e := range job.Edges(jobs) {
		edges = append(edges, &model.LineageEdge{
			Source: byID[e.Source], Derived: byID[e.Derived], Generation: toInt(e.Generation),
		})
	}
	return edges
}

func toStatusCounts(counts map[job.Status]job.Count) []*model.JobStatusCount {
	models := make([]*model.JobStatusCount, len(job.Statuses))
	for i, status := range job.Statuses {
		models[i] = &model.JobStatusCount{
			Status: model.JobStatus(status), Count: toInt(counts[status].Jobs), AtLeast: counts[status].AtLeast,
		}
	}
	return models
}

// exactly makes counts of numbers that were counted to their end.
func exactly(numbers map[job.Status]int) map[job.Status]job.Count {
	counts := make(map[job.Status]job.Count, len(numbers))
	for status, n := range numbers {
		counts[status] = job.Count{Jobs: n}
	}
	return counts
}

func toConnection(page job.JobPage, request job.PageRequest) *model.JobConnection {
	nodes := toJobs(page.Jobs)
	edges := make([]*model.JobEdge, len(nodes))
	for i, node := range nodes {
		edges[i] = &model.JobEdge{Node: node, Cursor: page.Cursor(node.Record)}
	}
	info := toPageInfo(page.More, request, len(edges), func(i int) *string { return &edges[i].Cursor })
	return &model.JobConnection{Edges: edges, Nodes: nodes, PageInfo: info}
}

func toAttemptConnection(page job.AttemptPage, request job.PageRequest) *model.JobAttemptConnection {
	nodes, edges := make([]*model.JobAttempt, len(page.Attempts)), make([]*model.JobAttemptEdge, len(page.Attempts))
	for i, a := range page.Attempts {
		nodes[i] = &model.JobAttempt{
			Number: toInt(a.Number), Outcome: toEnum[model.JobAttemptOutcome](a.Outcome),
			StartedAt: a.StartedAt, EndedAt: a.EndedAt, SQLState: optional(a.SQLState),
		}
		edges[i] = &model.JobAttemptEdge{Node: nodes[i], Cursor: page.Cursor(a)}
	}
	info := toPageInfo(page.More, request, len(edges), func(i int) *string { return &edges[i].Cursor })
	return &model.JobAttemptConnection{Edges: edges, Nodes: nodes, PageInfo: info}
}

// toPageInfo says where a page of so many edges lies.
func toPageInfo(more bool, request job.PageRequest, edges int, cursor func(i int) *string) *model.PageInfo {
	info := &model.PageInfo{HasNextPage: more, HasPreviousPage: request.Cursor != ""}
	if edges > 0 {
		info.StartCursor, info.EndCursor = cursor(0), cursor(edges-1)
	}
	return info
}

// toEnum spells a word of the core as the schema's enums do; none stays none.
func toEnum[Enum, Word ~string](w Word) Enum { return Enum(strings.ToUpper(string(w))) }

func toRecordErrors(errors []jobtype.RecordError) []*model.RecordError {
	var models []*model.RecordError
	for _, e := range errors {
		models = append(models, &model.RecordError{Pointer: e.Pointer, Code: toEnum[model.RecordErrorCode](e.Code)})
	}
	return models
}

func toFilter(f *model.JobFilter) job.Filter {
	if f == nil {
		return job.Filter{}
	}
	filter := job.Filter{
		Replay: f.Replay, Unresolved: f.Unresolved, CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore,
	}
	for _, status := range f.Status {
		if !slices.Contains(filter.Statuses, job.Status(status)) { // however often a client repeats one
			filter.Statuses = append(filter.Statuses, job.Status(status))
		}
	}
	return filter
}

func pageRequest(first *int32, fallback int, after *string) job.PageRequest {
	request := job.PageRequest{Limit: fallback, Cursor: orEmpty(after)}
	if first != nil {
		request.Limit = int(*first)
	}
	return request
}

// orNull maps what was read, or makes it null when the owner has no such job.
func orNull[Core, Model any](value Core, err error, toModel func(Core) *Model) (*Model, error) {
	switch {
	case isNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return toModel(value), nil
	}
}

// orEmpty is a text, or an empty one for null.
func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// toInt makes a count GraphQL's Int.
func toInt(n int) int32 { return int32(n) } //nolint:gosec // no count comes near 32 bits

// optional is null for the zero value, by which the core says that there is none.
func optional[T string | int32 | model.ProblemCode | time.Time](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return new(value) // not &value, for which Go would also allocate a value that is none
}
