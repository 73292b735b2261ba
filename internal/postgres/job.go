package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
)

// collectJob reads one row of the columns of a job, for pgx.CollectRows.
func collectJob(row pgx.CollectableRow) (job.Job, error) { return statements.ScanJob(row) }

func scanPlacedJob(row pgx.CollectableRow) (p batch.Placed[job.Job], err error) {
	p.Result, err = statements.ScanJob(row, &p.Place)
	return p, err
}

// notFound names the absence of a row.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return job.ErrNotFound
	}
	return err
}
