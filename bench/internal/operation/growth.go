package operation

import (
	"context"
	"fmt"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/target"
)

// Growth does one thing on databases of different sizes: through REST, or by a worker.
type Growth struct {
	// Of is what is done.
	Of string
	// Target makes the target on one of the databases.
	Target func(ctx context.Context, e *Env, db *Database) (compare.Target, error)
	// Plan is the one of the profile's that is followed.
	Plan func(Profile) compare.Plan
	// Must and Aim bound the rate at the most rows over that at the fewest, or at the second most when FromMiddle is set.
	Must, Aim  float64
	FromMiddle bool
}

// The reads whose growth is bounded.
var (
	JobGrowth     = Growth{Of: "job by id", Target: through(restJob), Plan: reads, Must: 0.5, Aim: 0.8}
	LineageGrowth = Growth{Of: "lineage of 100 jobs", Target: through(restLineage), Plan: reads, Must: 0.5, Aim: 0.8}
	ListGrowth    = Growth{Of: "list of 50 jobs", Target: listThroughREST, Plan: reads, Must: 0.35, Aim: 0.8, FromMiddle: true}
)

// The writes. PostgreSQL alone kept 0.46 of its rate of cancellations in a trial, so no more than that must be kept.
var (
	CancelGrowth    = Growth{Of: "cancel", Target: through(cancelThroughREST), Plan: writes, Must: 0.45, Aim: 0.8}
	SubmitGrowth    = Growth{Of: "submit", Target: through(submitThroughREST), Plan: writes, Must: 0.45, Aim: 0.8}
	ExecutionGrowth = Growth{Of: "execution", Target: workerBeside, Plan: workers, Must: 0.45, Aim: 0.8}
)

func reads(p Profile) compare.Plan   { return p.Reads }
func writes(p Profile) compare.Plan  { return p.Writes }
func workers(p Profile) compare.Plan { return p.Workers }

func through(door func(*Database) *target.HTTP) func(context.Context, *Env, *Database) (compare.Target, error) {
	return func(_ context.Context, _ *Env, db *Database) (compare.Target, error) { return door(db), nil }
}

func listThroughREST(ctx context.Context, _ *Env, db *Database) (compare.Target, error) {
	return restList(ctx, db)
}

// workerBeside makes a worker whose jobs are beside those that are there. What they load and the ledger are in tables of their
// own, which begin empty at every size.
func workerBeside(ctx context.Context, e *Env, db *Database) (compare.Target, error) {
	pool, err := e.pool(ctx, db.URL)
	worker := e.workerOn(db.URL, pool)
	worker.Beside = db.Fuel
	return worker, err
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
		t, err := g.Target(ctx, e, db)
		if err != nil {
			return compare.Result{}, err
		}
		c.Targets = append(c.Targets, labelled{t, t.Name() + " at " + name(rows) + " rows"})
	}
	c.Goals = []compare.Goal{g.goal(c.Targets, e.Sizes)}
	r, err := c.Run(ctx, g.Plan(e.Profile), e.Cluster.Checkpoint)
	r.Curves = append(r.Curves, g.rates(r, c.Targets, e.Sizes))
	return r, err
}

// labelled is a target under another name.
type labelled struct {
	compare.Target

	label string
}

// Name implements compare.Target.
func (l labelled) Name() string { return l.label }

func (g Growth) goal(targets []compare.Target, sizes []int64) compare.Goal {
	from, to := 0, len(sizes)-1
	if g.FromMiddle {
		from = to - 1
	}
	return compare.Goal{
		Name: fmt.Sprintf("%s rate at %s rows / at %s", g.Of, name(sizes[to]), name(sizes[from])),
		Over: targets[to].Name(), Under: targets[from].Name(), Must: g.Must, Aim: g.Aim,
	}
}

func (g Growth) rates(r compare.Result, targets []compare.Target, sizes []int64) compare.Curve {
	curve := compare.Curve{Name: "Rate of " + g.Of + " by rows", X: "rows", Y: "a second"}
	for i, rows := range sizes {
		curve.Add(float64(rows), r.Rates[targets[i].Name()].Median)
	}
	return curve
}
