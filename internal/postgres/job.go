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

// placedJobRows reads the rows of one answer to calls that came together.
func placedJobRows() pgx.RowToFunc[batch.Placed[job.Job]] {
	var place int
	scanner := statements.NewJobScanner(&place)
	return func(row pgx.CollectableRow) (p batch.Placed[job.Job], err error) {
		p.Result, err = scanner.Scan(row)
		p.Place = place
		return p, err
	}
}

// notFound names the absence of a row.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return job.ErrNotFound
	}
	return err
}
