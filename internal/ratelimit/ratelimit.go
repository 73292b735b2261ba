// Package ratelimit keeps one owner's writes from crowding out the others'. Every owner has a token bucket for each
// operation: it holds as many tokens as the operation's rate allows in a second (at least one), a write takes one, and
// it fills up again at that rate.
//
// Buckets live in the memory of one process. There is room for a fixed number of them; the one unused for longest makes
// way for a new one, and would start full again. With several server processes an owner has as many buckets.
package ratelimit

import (
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/time/rate"

	"fencepost/internal/job"
)

// maxBuckets bounds the memory that buckets take, to a few megabytes.
const maxBuckets = 16_384

// Rates is how many of each operation an owner may start in a second, on average. Zero means without limit.
type Rates struct{ Submit, Cancel, Replay float64 }

// Limiter decides whether an owner's operation may go ahead. It is safe for concurrent use.
type Limiter struct {
	rates map[job.Operation]float64
	now   func() time.Time

	mu      sync.Mutex
	buckets *expirable.LRU[key, *rate.Limiter]
}

type key struct {
	owner     job.Owner
	operation job.Operation
}

// New returns a limiter whose buckets are all full. The clock is normally [time.Now].
func New(rates Rates, now func() time.Time) *Limiter {
	return &Limiter{
		rates: map[job.Operation]float64{
			job.OperationSubmit: rates.Submit,
			job.OperationCancel: rates.Cancel,
			job.OperationReplay: rates.Replay,
		},
		now: now,
		// With no lifetime of its own this is a plain LRU whose constructor cannot fail.
		buckets: expirable.NewLRU[key, *rate.Limiter](maxBuckets, nil, 0),
	}
}

// Allow takes a token for the owner's operation and reports true. When there is none it takes nothing, reports false,
// and says after how long there will be one.
func (l *Limiter) Allow(owner job.Owner, operation job.Operation) (retryAfter time.Duration, ok bool) {
	perSecond := l.rates[operation]
	if perSecond == 0 {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket, now := l.bucket(key{owner, operation}, perSecond), l.now()
	if bucket.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - bucket.TokensAt(now)
	return time.Duration(math.Ceil(missing / perSecond * float64(time.Second))), false
}

// bucket returns the bucket in use for k, or a full one.
func (l *Limiter) bucket(k key, perSecond float64) *rate.Limiter {
	if bucket, ok := l.buckets.Get(k); ok {
		return bucket
	}
	burst := max(1, int(math.Ceil(perSecond)))
	bucket := rate.NewLimiter(rate.Limit(perSecond), burst)
	l.buckets.Add(k, bucket)
	return bucket
}
