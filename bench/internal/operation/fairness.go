package operation

import (
	"context"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
)

// Fairness submits single jobs of one owner behind a flood of another one's.
type Fairness struct{}

// Title implements Operation.
func (Fairness) Title() string { return "fairness between owners" }

// Measure implements Operation.
func (o Fairness) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	db, pool, err := e.flooded(ctx, "fairness", seed.Flood{User: floodUser, Count: e.Cliffs.Flood})
	if err != nil {
		return compare.Result{}, err
	}
	return e.probe(ctx, o.Title(), db, pool, e.Cliffs.Flood)
}
