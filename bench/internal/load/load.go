// Package load makes many calls at once and measures them.
package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Clients is the number of clients of every measurement.
const Clients = 32

// ErrMiss means that a server answered, but not with what was asked for.
var ErrMiss = errors.New("not the answer that was asked for")

// Call makes the call with a number. The numbers of one run go from 0 up, over all clients; a client makes one call at a time.
type Call func(client int, number int64) error

// Bound ends a run. A part that is zero does not bound it.
type Bound struct {
	Duration time.Duration
	Ops      int64
}

// Sample is what a run came to. A run with an error or a miss is worth nothing.
type Sample struct {
	// Ops is the number of calls that succeeded, in Elapsed.
	Ops     int64
	Elapsed time.Duration
	// Errors and Misses count the calls that did not succeed, and FirstError is the first of their reasons.
	Errors, Misses int64
	FirstError     string
}

// Rate is the number of successful calls in a second.
func (s Sample) Rate() float64 { return float64(s.Ops) / s.Elapsed.Seconds() }

// counts adds up what the clients see.
type counts struct {
	ops, errors, misses atomic.Int64
	first               atomic.Pointer[string]
}

func (c *counts) add(err error) {
	switch {
	case err == nil:
		c.ops.Add(1)
		return
	case errors.Is(err, ErrMiss):
		c.misses.Add(1)
	default:
		c.errors.Add(1)
	}
	text := err.Error()
	c.first.CompareAndSwap(nil, &text)
}

func (c *counts) sample(elapsed time.Duration) Sample {
	s := Sample{Ops: c.ops.Load(), Errors: c.errors.Load(), Misses: c.misses.Load(), Elapsed: elapsed}
	if first := c.first.Load(); first != nil {
		s.FirstError = *first
	}
	return s
}

// Closed lets each client make its next call when it has the answer to the one before. It measures the greatest rate.
func Closed(ctx context.Context, clients int, b Bound, call Call) Sample {
	if b.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.Duration)
		defer cancel()
	}
	var (
		all  counts
		next atomic.Int64
		wait sync.WaitGroup
	)
	began := time.Now()
	for client := range clients {
		wait.Go(func() {
			for ctx.Err() == nil {
				number := next.Add(1) - 1
				if b.Ops > 0 && number >= b.Ops {
					return
				}
				all.add(call(client, number))
			}
		})
	}
	wait.Wait()
	return all.sample(time.Since(began))
}

// longest is the greatest latency that can be told from a greater one.
const longest = time.Minute

// Open makes calls at a rate, whatever the server does, and with distances by chance (a Poisson process), as pgbench makes them. The latency of a call counts from the moment that it was due, so
// that a stall is seen by every call that it delays, and not only by those that happened to be under way (the mistake
// known as coordinated omission).
func Open(ctx context.Context, clients int, rate float64, b Bound, call Call) (Sample, *hdrhistogram.Histogram) {
	total := int64(rate * b.Duration.Seconds())
	if b.Ops > 0 {
		total = b.Ops
	}
	var (
		all      counts
		next     atomic.Int64
		wait     sync.WaitGroup
		measured = make([]*hdrhistogram.Histogram, clients)
	)
	due := schedule(time.Now(), rate, total)
	began := time.Now()
	for client := range clients {
		measured[client] = NewHistogram()
		wait.Go(func() {
			for number := next.Add(1) - 1; number < total && ctx.Err() == nil; number = next.Add(1) - 1 {
				waitUntil(due[number])
				all.add(call(client, number))
				_ = measured[client].RecordValue(min(time.Since(due[number]), longest).Microseconds()) // in range
			}
		})
	}
	wait.Wait()
	sample := all.sample(time.Since(began))
	sum := NewHistogram()
	for _, h := range measured {
		sum.Merge(h)
	}
	return sample, sum
}

// schedule is when each call is due.
func schedule(at time.Time, rate float64, calls int64) []time.Time {
	due := make([]time.Time, calls)
	for i := range due {
		due[i] = at
		at = at.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second))) //nolint:gosec // nothing is secret about it
	}
	return due
}

func waitUntil(due time.Time) {
	if left := time.Until(due); left > 0 {
		<-time.After(left)
	}
}

// NewHistogram counts microseconds up to a minute, to three digits.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest.Microseconds(), 3) }
