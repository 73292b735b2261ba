package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
)

// jobRows reads the rows of one answer, which have the columns of a job, for pgx.CollectRows.
func jobRows() pgx.RowToFunc[job.Job] {
	scanner := statements.NewJobScanner()
	return func(row pgx.CollectableRow) (job.Job, error) { return scanner.Scan(row) }
}

// jobRowsWith reads rows that have one more column behind those of a job, and makes of both what is wanted.
func jobRowsWith[Extra, T any](combine func(job.Job, Extra) T) pgx.RowToFunc[T] {
	var extra Extra
	scanner := statements.NewJobScanner(&extra)
	return func(row pgx.CollectableRow) (T, error) {
		j, err := scanner.Scan(row)
		return combine(j, extra), err
	}
}

// placedJobRows reads the rows of one answer to calls that came together.
func placedJobRows() pgx.RowToFunc[batch.Placed[job.Job]] {
	return jobRowsWith(func(j job.Job, place int) batch.Placed[job.Job] {
		return batch.Placed[job.Job]{Result: j, Place: place}
	})
}

// notFound names the absence of a row.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return job.ErrNotFound
	}
	return err
}
