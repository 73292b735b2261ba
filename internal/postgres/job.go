package postgres

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/batch"
	"fencepost/internal/job"
)

// scanJob reads the columns of a job, and whatever columns the statement has behind them into extra.
func scanJob(row pgx.Row, extra ...any) (job.Job, error) {
	var (
		j                      job.Job
		failure, cancel        *string
		sqlState, constraint   *string
		ordinal, generation    *int
		cancelledAt, startedAt *time.Time
		sourceID, rootID       *uuid.UUID
		createdAt, updateAt    time.Time
	)
	columns := []any{
		&j.ID, &j.Status, &j.AttemptCount, &j.RecordCount, &failure, &cancel,
		&cancelledAt, &sourceID, &rootID, &generation, &createdAt, &updateAt,
		&sqlState, &ordinal, &constraint, &startedAt,
	}
	if err := row.Scan(append(columns, extra...)...); err != nil {
		return job.Job{}, err
	}
	j.CreatedAt, j.UpdatedAt, j.AttemptStartedAt = createdAt.UTC(), updateAt.UTC(), orZero(startedAt).UTC()
	j.FailureSQLState, j.FailureRecordOrdinal, j.FailureConstraint = orZero(sqlState), orZero(ordinal), orZero(constraint)
	if failure != nil {
		j.FailureCode = job.FailureCode(*failure)
	}
	if cancel != nil {
		j.CancellationCode, j.CancelledAt = *cancel, cancelledAt.UTC()
	}
	if sourceID != nil {
		j.Derivation = &job.Derivation{SourceID: *sourceID, RootID: *rootID, Generation: *generation}
	}
	return j, nil
}

// orZero is what a nullable column holds.
func orZero[T any](value *T) (t T) {
	if value != nil {
		t = *value
	}
	return t
}

// collectJob reads one row of such columns, for pgx.CollectRows.
func collectJob(row pgx.CollectableRow) (job.Job, error) { return scanJob(row) }

func scanPlacedJob(row pgx.CollectableRow) (p batch.Placed[job.Job], err error) {
	p.Result, err = scanJob(row, &p.Place)
	return p, err
}

// notFound names the absence of a row.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return job.ErrNotFound
	}
	return err
}
