package shares

import (
	"context"
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// Store is a [job.Store] whose reads of many rows have places. Single jobs, writes and whatever else uses the database find it free of
// those that have none: who waits for its turn waits without a connection.
type Store struct {
	job.Store
	places   *Places[job.Owner]
	patience time.Duration
}

// Of divides the reads of a store among their owners, for a pool of so many connections. Together they take two fifths of it, and one owner
// half of that. A read that has waited as long as the patience is [job.ErrUnavailable], for its owner alone.
func Of(store job.Store, pool int, patience time.Duration) *Store {
	total := max(1, pool*2/5)
	return &Store{Store: store, places: NewPlaces[job.Owner](total, max(1, total/2)), patience: patience}
}

// Waiting is the number of reads that wait for their turn.
func (s *Store) Waiting() int { return s.places.Waiting() }

// List implements [job.Store].
func (s *Store) List(ctx context.Context, owner job.Owner, f job.Filter, p job.Page) ([]job.Job, error) {
	return placed(ctx, s, owner, func() ([]job.Job, error) { return s.Store.List(ctx, owner, f, p) })
}

// CountByStatus implements [job.Store].
func (s *Store) CountByStatus(ctx context.Context, owner job.Owner, f job.Filter) (map[job.Status]job.Count, error) {
	return placed(ctx, s, owner, func() (map[job.Status]job.Count, error) { return s.Store.CountByStatus(ctx, owner, f) })
}

// Jobs implements [job.Store]. A single job needs no place.
func (s *Store) Jobs(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID]job.Job, error) {
	if len(ids) == 1 {
		return s.Store.Jobs(ctx, owner, ids)
	}
	return placed(ctx, s, owner, func() (map[uuid.UUID]job.Job, error) { return s.Store.Jobs(ctx, owner, ids) })
}

// Attempts implements [job.Store].
func (s *Store) Attempts(ctx context.Context, owner job.Owner, ids []uuid.UUID, p job.AttemptsAfter) (map[uuid.UUID][]job.Attempt, error) {
	return placed(ctx, s, owner, func() (map[uuid.UUID][]job.Attempt, error) { return s.Store.Attempts(ctx, owner, ids, p) })
}

// Replays implements [job.Store].
func (s *Store) Replays(ctx context.Context, owner job.Owner, sources []uuid.UUID, p job.Page) (map[uuid.UUID][]job.Job, error) {
	return placed(ctx, s, owner, func() (map[uuid.UUID][]job.Job, error) { return s.Store.Replays(ctx, owner, sources, p) })
}

// Lineages implements [job.Store].
func (s *Store) Lineages(ctx context.Context, owner job.Owner, ids []uuid.UUID, limit int) (map[uuid.UUID]job.Lineage, error) {
	return placed(ctx, s, owner, func() (map[uuid.UUID]job.Lineage, error) { return s.Store.Lineages(ctx, owner, ids, limit) })
}

// LineagePage implements [job.Store].
func (s *Store) LineagePage(
	ctx context.Context, owner job.Owner, id uuid.UUID, p job.Page,
) (summary job.LineageSummary, jobs []job.Job, err error) {
	jobs, err = placed(ctx, s, owner, func() (jobs []job.Job, err error) {
		summary, jobs, err = s.Store.LineagePage(ctx, owner, id, p)
		return jobs, err
	})
	return summary, jobs, err
}

// placed makes a read when it is its owner's turn.
func placed[T any](ctx context.Context, s *Store, owner job.Owner, read func() (T, error)) (T, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, s.patience, job.ErrUnavailable)
	defer cancel()
	if err := s.places.Take(waiting, owner); err != nil {
		var none T
		return none, err
	}
	defer s.places.Give(owner)
	return read()
}
