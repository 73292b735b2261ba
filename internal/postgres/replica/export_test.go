package replica

import (
	"context"
	"time"

	"fencepost/internal/postgres"
)

// SetPatience sets how long a read waits for the replica, and lets a rest end by [Store.EndRest] alone, so that no clock decides
// what a test sees.
func (r *Store) SetPatience(patience time.Duration) { r.patience, r.rest = patience, time.Hour }

// EndRest makes the next read try the replica.
func (r *Store) EndRest() {
	if r.restUntil.Load() != 0 {
		r.restUntil.Store(1)
	}
}

// Rest is how long the replica is left alone.
func (r *Store) Rest() time.Duration { return r.rest }

// The parts of a read.
func (r *Store) Admits(now time.Time) bool { return r.admits(now) }
func (r *Store) Note(outcome string)       { r.note(outcome) }

// Current makes one read on the replica if that is current, and on the primary otherwise.
func Current[T any](ctx context.Context, r *Store, read func(postgres.Reader) (T, error)) (T, error) {
	return current(ctx, r, read)
}
