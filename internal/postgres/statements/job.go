package statements

import (
	"github.com/jackc/pgx/v5/pgtype"

	"fencepost/internal/job"
)

// jobColumns are what a job is read from, in the order of [ScanJob]: {{template "job_columns"}} in a statement.
const jobColumns = `job_record_id, job_status, attempt_count, record_count, failure_code, cancellation_code,
	job_cancelled_at, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count,
	created_at, updated_at, failure_sql_state, failure_record_ordinal, failure_constraint, attempt_started_at`

// Row is one row of an answer.
type Row interface{ Scan(into ...any) error }

// ScanJob reads the columns of a job, and whatever columns the statement has behind them into extra.
func ScanJob(row Row, extra ...any) (job.Job, error) { return NewJobScanner(extra...).Scan(row) }

// JobScanner reads the jobs of many rows through the same memory. Its parts are pgtype's own, which pgx fills without a conversion.
type JobScanner struct {
	id, source, root        pgtype.UUID
	status, failure, cancel pgtype.Text
	sqlState, constraint    pgtype.Text
	attempts, records       pgtype.Int4
	generation, ordinal     pgtype.Int4
	created, update         pgtype.Timestamptz
	cancelled, started      pgtype.Timestamptz
	columns                 []any
}

// NewJobScanner makes one for rows that have further columns, which go into extra.
func NewJobScanner(extra ...any) *JobScanner {
	s := &JobScanner{}
	s.columns = append([]any{
		&s.id, &s.status, &s.attempts, &s.records, &s.failure, &s.cancel,
		&s.cancelled, &s.source, &s.root, &s.generation, &s.created, &s.update,
		&s.sqlState, &s.ordinal, &s.constraint, &s.started,
	}, extra...)
	return s
}

// Scan reads the job of a row.
func (s *JobScanner) Scan(row Row) (job.Job, error) {
	if err := row.Scan(s.columns...); err != nil {
		return job.Job{}, err
	}
	j := job.Job{
		ID: s.id.Bytes, Status: job.Status(s.status.String), AttemptCount: int(s.attempts.Int32), RecordCount: int(s.records.Int32),
		FailureCode: job.FailureCode(s.failure.String), CancellationCode: s.cancel.String,
		FailureSQLState: s.sqlState.String, FailureRecordOrdinal: int(s.ordinal.Int32), FailureConstraint: s.constraint.String,
		CreatedAt: s.created.Time.UTC(), UpdatedAt: s.update.Time.UTC(),
		CancelledAt: s.cancelled.Time.UTC(), AttemptStartedAt: s.started.Time.UTC(),
	}
	if s.source.Valid {
		j.Derivation = &job.Derivation{SourceID: s.source.Bytes, RootID: s.root.Bytes, Generation: int(s.generation.Int32)}
	}
	return j, nil
}
