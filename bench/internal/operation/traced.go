package operation

import (
	"context"
	"errors"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/sink"
)

// Traced does one thing with traces, at the default sampling, and without: through REST, or by a worker.
type Traced struct {
	// Of is what is done.
	Of string
	// Target makes the target on a database, whose server is or isn't traced.
	Target func(ctx context.Context, e *Env, db *Database) (compare.Target, error)
	// Plan is the one of the profile's that is followed.
	Plan func(Profile) compare.Plan
	// Must and Aim bound the rate with traces over that without.
	Must, Aim float64
}

// What tracing may cost.
var (
	TracedJob    = Traced{Of: "REST job", Target: through(restJob), Plan: reads, Must: 0.75, Aim: 0.9}
	TracedCancel = Traced{Of: "REST cancel", Target: through(cancelThroughREST), Plan: writes, Must: 0.8, Aim: 0.9}
	TracedSubmit = Traced{Of: "REST submit", Target: through(submitThroughREST), Plan: writes, Must: 0.8, Aim: 0.9}
	TracedWorker = Traced{Of: "worker", Target: workerOfItsOwn, Plan: workers, Must: 0.85, Aim: 0.95}
)

// workerOfItsOwn makes a worker on a database that nothing else uses.
func workerOfItsOwn(ctx context.Context, e *Env, db *Database) (compare.Target, error) {
	return e.worker(ctx, "worker_"+db.Name)
}

// Title implements Operation.
func (t Traced) Title() string { return t.Of + ", traced" }

// Measure implements Operation.
func (t Traced) Measure(ctx context.Context, e *Env) (r compare.Result, err error) {
	db, err := e.MainDatabase(ctx)
	if err != nil {
		return r, err
	}
	traces, err := sink.Start(ctx)
	if err != nil {
		return r, err
	}
	defer traces.Close()
	tracing := e.as(e.Fencepost.With(
		"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT="+traces.URL))
	defer func() { err = errors.Join(err, tracing.Close()) }()
	twin, err := tracing.serve(ctx, db.Name+"_traced", db.URL)
	if err != nil {
		return r, err
	}
	twin.Rows, twin.Fuel = db.Rows, db.Fuel
	without, err := t.Target(ctx, e, db)
	if err != nil {
		return r, err
	}
	with, err := t.Target(ctx, tracing, twin)
	if err != nil {
		return r, err
	}
	over, under := labelled{with, t.Of + " with traces"}, labelled{without, t.Of + " without"}
	c := compare.Comparison{Name: t.Title(), Targets: []compare.Target{under, over}, Goals: []compare.Goal{{
		Name: t.Of + ", with traces / without", Over: over.label, Under: under.label, Must: t.Must, Aim: t.Aim,
	}}}
	r, err = c.Run(ctx, t.Plan(e.Profile), e.Cluster.Checkpoint)
	if traces.Taken() == 0 {
		r.Void = "no traces were sent"
	}
	return r, err
}
