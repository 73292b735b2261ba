package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

var (
	cancelSQL        = statements.Named("cancel")
	cancelWaitingSQL = statements.Named("cancel waiting")
	findCancelledSQL = statements.Named("find cancelled")
)

// cancellation is what one call to Cancel asks for.
type cancellation struct {
	jobKey
	keyHash job.Hash
	reason  string
}

// Cancel implements job.Store. A cancellation shares its statement with those that come at the same time. One that did not win there
// asks again alone, and waits for the row if it must.
func (s *Store) Cancel(ctx context.Context, owner job.Owner, id uuid.UUID, keyHash job.Hash, reason string) (job.CancelResult, error) {
	c := cancellation{jobKey{owner, id}, keyHash, reason}
	won, err := s.cancellations.Do(ctx, c)
	switch {
	case len(won) > 0:
		return job.CancelResult{Job: won[0], Transitioned: true}, nil
	case err == nil, isBusy(err):
		return s.cancelAlone(ctx, c)
	default:
		return job.CancelResult{}, err
	}
}

// shareCancellation carries out the cancellations whose jobs are active and free.
func (s *Store) shareCancellation(ctx context.Context, cancellations []cancellation) ([]batch.Placed[job.Job], error) {
	return s.shareWrite(ctx, "cancel", cancelSQL, cancellationColumns(cancellations))
}

// cancellationColumns turns cancellations into arrays, one for each column.
func cancellationColumns(cancellations []cancellation) statements.Args {
	owners, ids := make([][]byte, len(cancellations)), make([]uuid.UUID, len(cancellations))
	keyHashes, reasons := make([][]byte, len(cancellations)), make([]string, len(cancellations))
	for i, c := range cancellations {
		owners[i], ids[i], keyHashes[i], reasons[i] = c.owner[:], c.id, c.keyHash[:], c.reason
	}
	return statements.Args{"owners": owners, "ids": ids, "key_hashes": keyHashes, "reasons": reasons}
}

func (c cancellation) findArgs() statements.Args {
	return statements.Args{"owner": c.owner[:], "id": c.id, "key_hash": c.keyHash[:], "reason": c.reason}
}

// cancelAlone carries out one cancellation, or reads why there is nothing to carry out.
func (s *Store) cancelAlone(ctx context.Context, c cancellation) (job.CancelResult, error) {
	var result job.CancelResult
	err := s.alone(ctx, "cancel", c.jobKey, func(ctx context.Context, patience time.Duration) error {
		err := s.db.Send(ctx, lockTimeout(patience), db.Row(cancelWaitingSQL, cancellationColumns([]cancellation{c}), func(row pgx.Row) (err error) {
			result.Job, err = statements.ScanJob(row, new(int))
			return err
		}))
		result.Transitioned = err == nil
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return s.db.Send(ctx, db.Row(findCancelledSQL, c.findArgs(), func(row pgx.Row) (err error) {
			result.Job, err = statements.ScanJob(row, &result.SameKey)
			return notFound(err)
		}))
	})
	if err == nil && result.Transitioned {
		s.notices.PublishJob(result.Job)
	}
	return result, err
}
