package feed

import (
	"context"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// Subject is what is followed.
type Subject[T any] struct {
	// Owner is the one who follows.
	Owner job.Owner
	// ID names a job, or the first job of a lineage.
	ID uuid.UUID
	// Read reads the present state.
	Read func(context.Context) (T, error)
	// Final reports whether a state can change no more.
	Final func(T) bool
}

// Follow delivers the present state at once, and then each later one that differs from the one before; states that pass
// while the receiver is busy may be left out. It closes the channel behind a final state, and when ctx is done. An error of
// the first read is returned, and [ErrFull]; a later read that fails is made again with the next notice or recheck.
func Follow[T any](ctx context.Context, h *Hub, s Subject[T]) (<-chan T, error) {
	w, err := h.join(s.Owner, s.ID) // before the read, so that no change falls between the two
	if err != nil {
		return nil, err
	}
	first, err := s.Read(ctx)
	if err != nil {
		h.leave(s.Owner, w)
		return nil, err
	}
	states := make(chan T)
	go func() {
		defer close(states)
		defer h.leave(s.Owner, w)
		follower[T]{s, w, h.config}.deliver(ctx, first, states)
	}()
	return states, nil
}

// follower reads the subject for one receiver.
type follower[T any] struct {
	Subject[T]
	watcher *watcher
	config  Config
}

func (f follower[T]) deliver(ctx context.Context, state T, states chan<- T) {
	for changed := true; changed; state, changed = f.next(ctx, state) {
		select {
		case states <- state:
		case <-ctx.Done():
			return
		}
		if f.Final(state) {
			return
		}
	}
}

// next reads until the state differs from the last one. It reports false when ctx is done.
func (f follower[T]) next(ctx context.Context, last T) (T, bool) {
	for f.watcher.wait(ctx, f.config) {
		if state, err := f.Read(ctx); err == nil && !reflect.DeepEqual(state, last) {
			return state, true
		}
	}
	return last, false
}

// wait returns true when it is time to read again, and false when ctx is done.
func (w *watcher) wait(ctx context.Context, c Config) bool {
	recheck := time.NewTimer(c.Recheck - rand.N(c.Recheck/2+1)) //nolint:gosec // it need not be unpredictable
	defer recheck.Stop()
	pause := time.NewTimer(c.Pause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return false
	}
	select {
	case <-w.news:
		return true
	case <-recheck.C:
		return true
	case <-ctx.Done():
		return false
	}
}
