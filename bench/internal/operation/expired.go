package operation

import (
	"context"
	"slices"
	"time"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/seed"
)

// ExpiredLeases takes over jobs whose workers are gone, and submits new ones meanwhile.
type ExpiredLeases struct{}

// Title implements Operation.
func (ExpiredLeases) Title() string { return "expired leases" }

// Measure implements Operation.
func (o ExpiredLeases) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	flood := seed.Flood{User: floodUser, Count: e.Cliffs.Expired, Lease: -time.Hour}
	db, pool, err := e.flooded(ctx, "expired", flood)
	if err != nil {
		return compare.Result{}, err
	}
	probes, err := e.probe(ctx, o.Title(), db, pool, flood.Count)
	if err != nil {
		return probes, err
	}
	r, err := e.standing(ctx, o.Title(), db, pool, compare.Goal{
		Name: "jobs a second, " + name(flood.Count) + " expired leases / a few pending jobs", Must: 0.7, Aim: 0.9,
	})
	r.Goals, r.Numbers = slices.Concat(r.Goals, probes.Goals), probes.Numbers
	if r.Void == "" {
		r.Void = probes.Void
	}
	return r, err
}
