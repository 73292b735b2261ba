package statements

import (
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// jobColumns are what a job is read from, in the order of [ScanJob]: {{template "job_columns"}} in a statement.
const jobColumns = `job_record_id, job_status, attempt_count, record_count, failure_code, cancellation_code,
	job_cancelled_at, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count,
	created_at, updated_at, failure_sql_state, failure_record_ordinal, failure_constraint, attempt_started_at`

// Row is one row of an answer.
type Row interface{ Scan(into ...any) error }

// ScanJob reads the columns of a job, and whatever columns the statement has behind them into extra.
func ScanJob(row Row, extra ...any) (job.Job, error) {
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
	j.FailureCode, j.CancellationCode, j.CancelledAt = job.FailureCode(orZero(failure)), orZero(cancel), orZero(cancelledAt).UTC()
	j.FailureSQLState, j.FailureRecordOrdinal, j.FailureConstraint = orZero(sqlState), orZero(ordinal), orZero(constraint)
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
