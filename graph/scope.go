package graph

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vikstrous/dataloadgen"
	"golang.org/x/sync/semaphore"

	"fencepost/internal/auth"
	"fencepost/internal/job"
)

// batchWait is how long a loader waits for the other rows that want the same thing.
const batchWait = 4 * time.Millisecond

// rootsAtOnce is how many root fields of a query run at a time, so that one request does not take what many could have.
const rootsAtOnce = 2

// scope is what the resolvers of one answer share: whose it is, and loaders that read for many rows in one statement.
type scope struct {
	owner    job.Owner
	service  *job.Service
	roots    *semaphore.Weighted // the root fields that run; nil where there is one
	jobs     *dataloadgen.Loader[uuid.UUID, job.Job]
	lineages *dataloadgen.Loader[uuid.UUID, job.Lineage]
	replays  *dataloadgen.Loader[pageKey, job.JobPage]
	attempts *dataloadgen.Loader[pageKey, job.AttemptPage]
}

// pageKey is a page of a list that a job has.
type pageKey struct {
	job     uuid.UUID
	request job.PageRequest
}

type scopeKey struct{}

// withScope begins a scope. What its loaders have read stays as it is for as long as the scope lasts.
func withScope(ctx context.Context, service *job.Service) context.Context {
	owner, _ := auth.Owner(ctx) // the gate has seen to it that there is one
	s := &scope{owner: owner, service: service}
	wait := dataloadgen.WithWait(batchWait)
	s.jobs = dataloadgen.NewMappedLoader(s.loadJobs, wait)
	s.lineages = dataloadgen.NewMappedLoader(s.loadLineages, wait)
	s.replays = dataloadgen.NewMappedLoader(s.loadReplays, wait)
	s.attempts = dataloadgen.NewMappedLoader(s.loadAttempts, wait)
	return context.WithValue(ctx, scopeKey{}, s)
}

func scopeOf(ctx context.Context) *scope { return ctx.Value(scopeKey{}).(*scope) }

func (s *scope) loadJobs(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]job.Job, error) {
	return s.service.Jobs(ctx, s.owner, ids)
}

func (s *scope) loadLineages(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]job.Lineage, error) {
	return s.service.Lineages(ctx, s.owner, ids)
}

func (s *scope) loadReplays(ctx context.Context, keys []pageKey) (map[pageKey]job.JobPage, error) {
	return loadPages(keys, func(of []uuid.UUID, r job.PageRequest) (map[uuid.UUID]job.JobPage, error) {
		return s.service.Replays(ctx, s.owner, of, r)
	})
}

func (s *scope) loadAttempts(ctx context.Context, keys []pageKey) (map[pageKey]job.AttemptPage, error) {
	return loadPages(keys, func(of []uuid.UUID, r job.PageRequest) (map[uuid.UUID]job.AttemptPage, error) {
		return s.service.Attempts(ctx, s.owner, of, r)
	})
}

// attemptsOf reads the same page of attempts of many jobs, together with those that others want.
func (s *scope) attemptsOf(ctx context.Context, jobs []uuid.UUID, r job.PageRequest) (map[uuid.UUID]job.AttemptPage, error) {
	keys := make([]pageKey, len(jobs))
	for i, id := range jobs {
		keys[i] = pageKey{job: id, request: r}
	}
	pages, err := s.attempts.LoadAll(ctx, keys)
	of := make(map[uuid.UUID]job.AttemptPage, len(jobs))
	for i, page := range pages {
		of[jobs[i]] = page
	}
	return of, err
}

// loadPages makes one call for all jobs of whose list the same page is wanted. A cursor belongs to one job, so with cursors there is a
// call for each job; all but the cursor's own are refused before they reach the database.
func loadPages[Page any](
	keys []pageKey, read func([]uuid.UUID, job.PageRequest) (map[uuid.UUID]Page, error),
) (map[pageKey]Page, error) {
	groups := map[pageKey][]uuid.UUID{}
	for _, key := range keys {
		group := pageKey{request: key.request}
		if key.request.Cursor != "" {
			group.job = key.job
		}
		groups[group] = append(groups[group], key.job)
	}
	found, failed := map[pageKey]Page{}, dataloadgen.MappedFetchError[pageKey]{}
	for group, jobs := range groups {
		pages, err := read(jobs, group.request)
		for _, id := range jobs {
			key := pageKey{job: id, request: group.request}
			if err != nil {
				failed[key] = err
			} else {
				found[key] = pages[id]
			}
		}
	}
	return found, failed
}

// scopeEachAnswer gives a query a scope, and so each event of a subscription.
func scopeEachAnswer(service *job.Service) graphql.ResponseMiddleware {
	return func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		ctx = withScope(ctx, service)
		if operation := graphql.GetOperationContext(ctx).Operation; operation != nil && !isField(operation.SelectionSet) {
			scopeOf(ctx).roots = semaphore.NewWeighted(rootsAtOnce)
		}
		return next(ctx)
	}
}

// isField reports whether a single field is selected, which needs no look into fragments.
func isField(selected ast.SelectionSet) bool {
	if len(selected) != 1 {
		return false
	}
	_, field := selected[0].(*ast.Field)
	return field
}

// aroundRoots gives each field of a mutation a scope of its own, so that it never reads what a loader had read before the field's own
// write. Those of a query run some at a time.
func aroundRoots(service *job.Service) graphql.RootFieldMiddleware {
	return func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
		switch roots := scopeOf(ctx).roots; {
		case graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation:
			return next(withScope(ctx, service))
		case roots == nil:
			return next(ctx)
		default:
			return inTurn(ctx, roots, next)
		}
	}
}

func inTurn(ctx context.Context, roots *semaphore.Weighted, next graphql.RootResolver) graphql.Marshaler {
	if err := roots.Acquire(ctx, 1); err != nil {
		graphql.AddError(ctx, err)
		return graphql.Null
	}
	defer roots.Release(1)
	return next(ctx)
}

// limitTime bounds the time of an answer. A subscription takes as long as what it follows, and reads the database in calls
// that the store bounds.
func limitTime(timeout time.Duration) graphql.OperationMiddleware {
	return func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		respond := next(ctx)
		if graphql.GetOperationContext(ctx).Operation.Operation == ast.Subscription {
			return respond
		}
		return func(ctx context.Context) *graphql.Response {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return respond(ctx)
		}
	}
}
