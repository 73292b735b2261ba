package graph

import (
	"context"
	"time"

	"fencepost/internal/feed"
	"fencepost/internal/job"
)

// Limiter decides whether an owner may start another write now. When not, it says how long to wait.
type Limiter interface {
	Allow(owner job.Owner, operation job.Operation) (retryAfter time.Duration, ok bool)
}

// Resolver holds what the resolvers call.
type Resolver struct {
	service *job.Service
	feed    *feed.Hub
	limiter Limiter
}

// write does what every mutation has in common: it takes one write from the owner's allowance, then reads the key.
func (r *Resolver) write(
	ctx context.Context, op job.Operation, keyText string, call func(job.Owner, job.Key) (job.Accepted, error),
) (job.Accepted, error) {
	owner := scopeOf(ctx).owner
	if wait, ok := r.limiter.Allow(owner, op); !ok {
		return job.Accepted{}, limitedError{job.Refuse(job.CodeRateLimited), wait}
	}
	key, err := job.ParseKey(keyText)
	if err != nil {
		return job.Accepted{}, err
	}
	return call(owner, key)
}
