package target

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/load"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/seed"
)

// Worker is a "fencepost work" process that runs what is pending.
type Worker struct {
	Fencepost *process.Fencepost
	Flags     []string
	// DatabaseURL names a migrated database that nothing else uses, and Pool is one on it.
	DatabaseURL string
	Pool        *pgxpool.Pool

	fuel *seed.Fuel
}

// WorkerName is what the report calls a worker of Fencepost.
const WorkerName = "fencepost work"

// Name implements compare.Target.
func (w *Worker) Name() string { return WorkerName }

// Prepare implements compare.Target: it leaves ops pending jobs in the database, and nothing else.
func (w *Worker) Prepare(ctx context.Context, ops int64) error {
	if err := (ledger{w.Pool}).clear(ctx, "etl_job_records"); err != nil {
		return err
	}
	w.fuel = seed.NewFuel(w.DatabaseURL)
	if _, err := w.fuel.Pending(ctx, ops); err != nil {
		return err
	}
	_, err := w.Pool.Exec(ctx, "ANALYZE etl_job_records")
	return err
}

// Run implements compare.Target.
func (w *Worker) Run(ctx context.Context, b load.Bound) (sample load.Sample, err error) {
	p, err := w.Fencepost.Work(ctx, w.DatabaseURL, w.Flags...)
	if err != nil {
		return load.Sample{}, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	return ledger{w.Pool}.await(ctx, b.Ops)
}
