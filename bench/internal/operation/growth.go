package operation

import (
	"context"
	"fmt"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/target"
)

// Growth reads one thing from databases of different sizes, through REST.
type Growth struct {
	// Of is what is read.
	Of string
	// Read makes the target on one of the databases.
	Read func(ctx context.Context, db *Database) (*target.HTTP, error)
	// Must and Aim bound the rate at the most rows over that at the fewest, or at the second most when FromMiddle is set.
	Must, Aim  float64
	FromMiddle bool
}

// The reads whose growth is bounded.
var (
	JobGrowth     = Growth{Of: "job by id", Read: infallible(restJob), Must: 0.5, Aim: 0.8}
	LineageGrowth = Growth{Of: "lineage of 100 jobs", Read: infallible(restLineage), Must: 0.5, Aim: 0.8}
	ListGrowth    = Growth{Of: "list of 50 jobs", Read: restList, Must: 0.35, Aim: 0.8, FromMiddle: true}
)

func infallible(read func(*Database) *target.HTTP) func(context.Context, *Database) (*target.HTTP, error) {
	return func(_ context.Context, db *Database) (*target.HTTP, error) { return read(db), nil }
}

// Title implements Operation.
func (g Growth) Title() string { return g.Of + " as the table grows" }

// Measure implements Operation.
func (g Growth) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	c := compare.Comparison{Name: g.Title()}
	for _, rows := range e.Sizes {
		db, err := e.Database(ctx, rows)
		if err != nil {
			return compare.Result{}, err
		}
		t, err := g.Read(ctx, db)
		if err != nil {
			return compare.Result{}, err
		}
		t.Label = atSize(rows)
		c.Targets = append(c.Targets, t)
	}
	from, to := e.Sizes[0], e.Sizes[len(e.Sizes)-1]
	if g.FromMiddle {
		from = e.Sizes[len(e.Sizes)-2]
	}
	c.Goals = []compare.Goal{{
		Name: fmt.Sprintf("%s rate at %s rows / at %s", g.Of, name(to), name(from)),
		Over: atSize(to), Under: atSize(from), Must: g.Must, Aim: g.Aim,
	}}
	plan := e.Reads
	plan.Latency = noLatency
	r, err := c.Run(ctx, plan, e.Cluster.Checkpoint)
	r.Curves = append(r.Curves, rateCurve(r, g.Of, e.Sizes))
	return r, err
}

func atSize(rows int64) string { return "REST at " + name(rows) + " rows" }

func rateCurve(r compare.Result, of string, sizes []int64) compare.Curve {
	curve := compare.Curve{Name: "Rate of " + of + " by rows", X: "rows", Y: "a second"}
	for _, rows := range sizes {
		curve.Add(float64(rows), r.Rates[atSize(rows)].Median)
	}
	return curve
}
