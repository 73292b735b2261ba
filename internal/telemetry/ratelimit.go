package telemetry

import (
	"time"

	"fencepost/internal/job"
	"fencepost/internal/ratelimit"
)

// Limiter is a rate limiter whose refusals are counted.
type Limiter struct {
	next    *ratelimit.Limiter
	metrics *Metrics
}

// CountRefusals makes a limiter that decides as the given one does.
func (m *Metrics) CountRefusals(l *ratelimit.Limiter) Limiter { return Limiter{l, m} }

// Allow is [ratelimit.Limiter.Allow].
func (l Limiter) Allow(owner job.Owner, op job.Operation) (retryAfter time.Duration, ok bool) {
	retryAfter, ok = l.next.Allow(owner, op)
	if !ok {
		l.metrics.rateLimited.WithLabelValues(string(op)).Inc()
	}
	return retryAfter, ok
}
