package ratelimit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

var ann, bob = job.OwnerOf("ann"), job.OwnerOf("bob")

// clock is a time that a test moves by hand.
type clock struct{ time.Time }

func newClock() *clock                { return &clock{time.Unix(1_800_000_000, 0)} }
func (c *clock) now() time.Time       { return c.Time }
func (c *clock) pass(d time.Duration) { c.Time = c.Add(d) }

// allowed counts how many operations in a row go ahead.
func allowed(l *Limiter, owner job.Owner, operation job.Operation) int {
	for n := range 1000 {
		if _, ok := l.Allow(owner, operation); !ok {
			return n
		}
	}
	return 1000
}

func TestBurstIsTheRateRoundedUpAndAtLeastOne(t *testing.T) {
	t.Parallel()
	for perSecond, burst := range map[float64]int{0.25: 1, 1: 1, 2.5: 3, 10: 10} {
		l := New(Rates{Submit: perSecond}, newClock().now)
		require.Equal(t, burst, allowed(l, ann, job.OperationSubmit))
	}
}

func TestZeroRateIsWithoutLimit(t *testing.T) {
	t.Parallel()
	l := New(Rates{Submit: 1, Replay: 1}, newClock().now)
	require.Equal(t, 1000, allowed(l, ann, job.OperationCancel))
	require.Zero(t, l.buckets.Len())
}

func TestOwnersAndOperationsHaveBucketsOfTheirOwn(t *testing.T) {
	t.Parallel()
	l := New(Rates{Submit: 1, Cancel: 2, Replay: 3}, newClock().now)
	for _, owner := range []job.Owner{ann, bob} {
		require.Equal(t, 1, allowed(l, owner, job.OperationSubmit))
		require.Equal(t, 2, allowed(l, owner, job.OperationCancel))
		require.Equal(t, 3, allowed(l, owner, job.OperationReplay))
	}
}

func TestRefusalSaysExactlyWhenToRetry(t *testing.T) {
	t.Parallel()
	for perSecond, wait := range map[float64]time.Duration{0.25: 4 * time.Second, 1: time.Second, 4: time.Second / 4} {
		c := newClock()
		l := New(Rates{Submit: perSecond}, c.now)
		allowed(l, ann, job.OperationSubmit)
		for range 5 { // a refusal takes nothing, so that asking again makes nothing worse
			retryAfter, ok := l.Allow(ann, job.OperationSubmit)
			require.False(t, ok)
			require.Equal(t, wait, retryAfter)
		}
		c.pass(wait - time.Millisecond)
		retryAfter, ok := l.Allow(ann, job.OperationSubmit)
		require.False(t, ok)
		require.InDelta(t, time.Millisecond, retryAfter, 1000)
		c.pass(retryAfter)
		retryAfter, ok = l.Allow(ann, job.OperationSubmit)
		require.True(t, ok)
		require.Zero(t, retryAfter)
	}
}

func TestBucketFillsAtItsRateAndNotBeyondItsBurst(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := New(Rates{Submit: 10}, c.now)
	require.Equal(t, 10, allowed(l, ann, job.OperationSubmit))
	c.pass(500 * time.Millisecond)
	require.Equal(t, 5, allowed(l, ann, job.OperationSubmit))
	c.pass(time.Hour)
	require.Equal(t, 10, allowed(l, ann, job.OperationSubmit))
}

func TestBucketsAreBoundedAndAnEvictedOneStartsFull(t *testing.T) {
	t.Parallel()
	l := New(Rates{Submit: 1}, newClock().now)
	require.Equal(t, 1, allowed(l, ann, job.OperationSubmit))
	for i := range maxBuckets {
		l.Allow(job.OwnerOf(fmt.Sprint(i)), job.OperationSubmit)
	}
	require.Equal(t, maxBuckets, l.buckets.Len())
	require.Equal(t, 1, allowed(l, ann, job.OperationSubmit))
}

func TestConcurrentOperationsShareOneBucket(t *testing.T) {
	t.Parallel()
	l := New(Rates{Submit: 7}, newClock().now)
	var all sync.WaitGroup
	var passed atomic.Int64
	for range 50 {
		all.Go(func() {
			if _, ok := l.Allow(ann, job.OperationSubmit); ok {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 7, passed.Load())
}
