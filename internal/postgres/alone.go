package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"fencepost/internal/job"
)

// sharedPart is the part of the lock timeout that a shared statement may take. What it can't do in that time, each call does alone in the
// rest of it.
const sharedPart = 10

// mostContended bounds how many rows and keys are remembered to be contended.
const mostContended = 10_000

// contended are the keys and rows that calls wait for, or waited for in vain: each has a turn, which one call has at a time. So a row
// that somebody holds costs one connection, however many calls want it.
type contended struct {
	turns *lru.Cache[any, *semaphore.Weighted]
}

func newContended() contended {
	turns, _ := lru.New[any, *semaphore.Weighted](mostContended) // an error is of a size below one
	return contended{turns}
}

// sharedTimeout is how long a shared statement waits for what another transaction holds.
func (s *Store) sharedTimeout() time.Duration {
	return max(s.config.LockTimeout/sharedPart, time.Millisecond)
}

func isBusy(err error) bool { return errors.Is(err, job.ErrBusy) }

// has reports whether a call about this thing would have to wait, and so may not keep others waiting.
func (c contended) has(thing any) bool { return c.turns.Contains(thing) }

// turn is that of one thing.
func (c contended) turn(thing any) *semaphore.Weighted {
	turn := semaphore.NewWeighted(1)
	if earlier, found, _ := c.turns.PeekOrAdd(thing, turn); found {
		return earlier
	}
	return turn
}

// alone carries out a write that may have to wait for one thing, a row or a key. It tells its try how long that may wait, so that
// waiting for the turn and for locks takes what a shared statement left of the lock timeout, and no more.
func (s *Store) alone(ctx context.Context, verb string, thing any, try func(ctx context.Context, patience time.Duration) error) error {
	until := time.Now().Add(s.config.LockTimeout - s.sharedTimeout())
	turn := s.contended.turn(thing)
	if err := wait(ctx, turn, until); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	defer turn.Release(1)
	err := s.db.Call(ctx, verb, func(ctx context.Context) error { return try(ctx, max(time.Until(until), time.Millisecond)) })
	if !isBusy(err) {
		s.contended.turns.Remove(thing)
	}
	return err
}

// wait waits for a turn. When it takes too long, what the turn is for is busy.
func wait(ctx context.Context, turn *semaphore.Weighted, until time.Time) error {
	bounded, cancel := context.WithDeadlineCause(ctx, until, job.ErrBusy)
	defer cancel()
	if turn.Acquire(bounded, 1) != nil {
		return context.Cause(bounded)
	}
	return nil
}
