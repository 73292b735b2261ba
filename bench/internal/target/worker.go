package target

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/load"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/seed"
)

// Worker is one or more "fencepost work" processes that run what is pending.
type Worker struct {
	// Label is its name in the report; empty means [WorkerName].
	Label     string
	Fencepost *process.Fencepost
	Flags     []string
	// Processes is how many run beside each other; 0 means one.
	Processes int
	// DatabaseURL names a migrated database that nothing else changes meanwhile, and Pool is one on it.
	DatabaseURL string
	Pool        *pgxpool.Pool
	// Standing tells that the jobs are there already, more than all blocks need.
	Standing bool
	// Beside makes the jobs in a table whose other rows stay. Without it, a block begins with an empty table.
	Beside *seed.Fuel
}

// WorkerName is what the report calls a worker of Fencepost.
const WorkerName = "fencepost work"

// Name implements compare.Target.
func (w *Worker) Name() string { return cmp.Or(w.Label, WorkerName) }

// Prepare implements compare.Target: it leaves ops pending jobs in the database, or the standing ones, and an empty ledger.
func (w *Worker) Prepare(ctx context.Context, ops int64) error {
	if w.Standing {
		return ledger{w.Pool}.clear(ctx)
	}
	fuel, err := w.clear(ctx)
	if err != nil {
		return err
	}
	if _, err := fuel.Pending(ctx, ops); err != nil {
		return err
	}
	_, err = w.Pool.Exec(ctx, "ANALYZE etl_job_records")
	return err
}

// clear leaves no job to execute, and returns what makes new ones.
func (w *Worker) clear(ctx context.Context) (*seed.Fuel, error) {
	if w.Beside != nil {
		return w.Beside, errors.Join(ledger{w.Pool}.clear(ctx), w.Beside.Burn(ctx))
	}
	return seed.NewFuel(w.DatabaseURL), ledger{w.Pool}.clear(ctx, "etl_job_attempts", "etl_job_records")
}

// Run implements compare.Target.
func (w *Worker) Run(ctx context.Context, b load.Bound) (load.Sample, error) {
	for range max(w.Processes, 1) {
		p, err := w.Fencepost.Work(ctx, w.DatabaseURL, w.Flags...)
		if err != nil {
			return load.Sample{}, err
		}
		defer p.Stop() //nolint:errcheck // what it has done is in the ledger
	}
	return ledger{w.Pool}.await(ctx, b.Ops)
}
