package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

var replaySQL, findSourceSQL = statements.Named("replay"), statements.Named("find source")

// Replay implements job.Store.
func (s *Store) Replay(ctx context.Context, sourceID uuid.UUID, n job.NewJob) (job.ReplayResult, error) {
	var result job.ReplayResult
	given := statements.Args{
		"owner": n.Owner[:], "source_id": sourceID, "id": n.ID, "key_hash": n.KeyHash[:], "digest": n.Payload.Digest[:],
		"payload": n.Payload.Bytes, "max_generation": job.MaxGeneration, "trace_parent": db.TraceParent(ctx),
	}
	err := s.alone(ctx, "replay", keyOf(n), func(ctx context.Context, patience time.Duration) error {
		result = job.ReplayResult{}
		err := s.db.Send(ctx, lockTimeout(patience), db.Row(replaySQL, given, func(row pgx.Row) error {
			created, err := statements.ScanJob(row)
			result.Created = &created
			return err
		}))
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		result, err = s.whyNotReplayed(ctx, sourceID, n)
		return err
	})
	if err == nil && result.Created != nil {
		s.notices.PublishJob(*result.Created)
	}
	return result, err
}

// whyNotReplayed reads the source, and the job that has the key if there is one.
func (s *Store) whyNotReplayed(ctx context.Context, sourceID uuid.UUID, n job.NewJob) (job.ReplayResult, error) {
	var result job.ReplayResult
	source := db.Row(findSourceSQL, statements.Args{"owner": n.Owner[:], "id": sourceID, "digest": n.Payload.Digest[:]},
		func(row pgx.Row) (err error) {
			result.Source, err = statements.ScanJob(row, &result.SameBytes)
			return notFound(err)
		})
	earlier := db.Row(findByKeySQL, keyArgs(n), func(row pgx.Row) error {
		var sameBytes bool
		earlier, err := statements.ScanJob(row, &sameBytes)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		result.Earlier = &earlier
		result.SameIdentity = sameBytes && earlier.Derivation != nil && earlier.SourceID == sourceID
		return err
	})
	if err := s.db.Send(ctx, source, earlier); err != nil {
		return job.ReplayResult{}, err
	}
	if result.Earlier != nil && result.Earlier.ID == n.ID {
		return job.ReplayResult{Created: result.Earlier}, nil // the answer to this call's first try was lost
	}
	return result, nil
}
