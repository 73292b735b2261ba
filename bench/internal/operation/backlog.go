package operation

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// Backlog runs jobs while a great many of one owner are pending.
type Backlog struct{}

// Title implements Operation.
func (Backlog) Title() string { return "backlog" }

// Measure implements Operation.
func (o Backlog) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	db, pool, err := e.flooded(ctx, "backlog", seed.Flood{User: floodUser, Count: e.Cliffs.Backlog})
	if err != nil {
		return compare.Result{}, err
	}
	return e.standing(ctx, o.Title(), db, pool, compare.Goal{
		Name: "jobs a second, " + name(e.Cliffs.Backlog) + " pending jobs / a few", Must: 0.7, Aim: 0.9,
	})
}

// standing compares workers on a flood with workers that have no more jobs than they run.
func (e *Env) standing(
	ctx context.Context, title string, db *Database, pool *pgxpool.Pool, goal compare.Goal,
) (compare.Result, error) {
	few, err := e.worker(ctx, "few_"+db.Name)
	if err != nil {
		return compare.Result{}, err
	}
	few.Label = target.WorkerName + ", few jobs"
	flood := e.workerOn(db.URL, pool)
	flood.Label, flood.Standing = target.WorkerName+", many jobs", true
	goal.Over, goal.Under = flood.Label, few.Label
	c := compare.Comparison{Name: title, Targets: []compare.Target{few, flood}, Goals: []compare.Goal{goal}}
	return c.Run(ctx, e.Workers, e.Cluster.Checkpoint)
}
