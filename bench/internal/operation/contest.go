package operation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/target"
)

// contest is one operation, done by the database alone and through each door, by this version and by another one.
type contest struct {
	title string
	// of is what goals call the operation.
	of    string
	db    *Database
	floor *target.Pgbench
	// shared is the statement that the product sends for writes that come together; its zero value when it has none.
	shared statement
	doors  []*target.HTTP
	peers  []compare.Target
	goals  []compare.Goal
	plan   compare.Plan
}

// The least part of the limit that each door must reach, and the wanted one.
var limitGoals = map[string][2]float64{restName: {0.5, 0.75}, graphqlName: {0.4, 0.6}}

// How many times as long as those of pgbench the slowest calls may take.
const tailMust, tailAim = 3, 1.5

// measure lets all take turns.
func (e *Env) measure(ctx context.Context, c contest) (compare.Result, error) {
	database, single, tried, err := e.fastest(ctx, c)
	if err != nil {
		return compare.Result{}, err
	}
	all := compare.Comparison{Name: c.title, Targets: append([]compare.Target{c.floor, database}, c.peers...), Goals: c.goals}
	for _, door := range c.doors {
		memory, err := e.fromMemory(ctx, c, door)
		if err != nil {
			return compare.Result{}, err
		}
		all.Targets = append(all.Targets, door, memory)
		name, bounds := door.Label+" "+c.of, limitGoals[door.Label]
		all.Goals = append(all.Goals, compare.Goal{
			Name: name + " / limit", Over: door.Label, Under: database.Label, With: memory.Label, Must: bounds[0], Aim: bounds[1],
		})
		all.Tails = append(all.Tails, compare.Tail{
			Name: name + ", p99 at half of its rate / pgbench at that rate", Of: door, Beside: single, Must: tailMust, Aim: tailAim,
		})
		if e.Old != nil {
			old, err := e.oldDoor(ctx, c.db, door)
			if err != nil {
				return compare.Result{}, err
			}
			all.Targets = append(all.Targets, old)
			all.Goals = append(all.Goals, against(name, door.Label, old.Label))
		}
	}
	r, err := all.Run(ctx, c.plan, e.Cluster.Checkpoint)
	r.Numbers = append(r.Numbers, tried...)
	return r, err
}

// ways are those that are tried for the database alone: one statement an operation, then several in a pipeline, then many rows a
// statement.
func (c contest) ways() []target.Way {
	var all []target.Way
	for clients := int64(1); clients <= 32; clients *= 2 {
		all = append(all, target.Way{Clients: clients}, target.Way{Clients: clients, Pipeline: 8})
		if c.shared.name != "" && clients <= 8 {
			all = append(all, target.Way{Clients: clients, Rows: 32})
		}
	}
	return all
}

// fastest tries each way once, a warm-up long, and returns the database with the best of them, and with the best of those that send one
// statement an operation: calls that come one by one.
func (e *Env) fastest(ctx context.Context, c contest) (best, single *target.Pgbench, tried []compare.Number, err error) {
	greatest, greatestOfSingle := 0.0, 0.0
	for _, way := range c.ways() {
		alone := *c.floor
		alone.Label, alone.Way = "database, "+way.String(), way
		if way.Rows > 0 {
			alone.Statements = sql(c.shared)
		}
		if err := alone.Prepare(ctx, c.plan.Warm.Ops); err != nil {
			return nil, nil, nil, err
		}
		sample, err := alone.Run(ctx, c.plan.Warm)
		if errors.Is(err, target.ErrNoRate) {
			continue // too slow to be the fastest
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", alone.Label, err)
		}
		tried = append(tried, compare.Number{Name: "tried: " + alone.Label, Value: sample.Rate(), Unit: "a second"})
		if sample.Rate() > greatest {
			best, greatest = &alone, sample.Rate()
		}
		if way.Together() == 1 && sample.Rate() > greatestOfSingle {
			single, greatestOfSingle = &alone, sample.Rate()
		}
	}
	if single == nil {
		return nil, nil, nil, target.ErrNoRate
	}
	return best, single, tried, nil
}

// fromMemory is a door's twin that gives an answer of the door's out of memory, to the same requests.
func (e *Env) fromMemory(ctx context.Context, c contest, door *target.HTTP) (*target.HTTP, error) {
	a, err := door.Answer(ctx)
	if err != nil {
		return nil, err
	}
	name := strings.ReplaceAll(door.Label+" "+c.of+".json", " ", "-")
	p, address, err := e.Fencepost.AnswerFromMemory(ctx, a, filepath.Join(filepath.Dir(e.Fencepost.Binary), name))
	if err != nil {
		return nil, err
	}
	e.closers = append(e.closers, p.Stop)
	return &target.HTTP{Label: door.Label + " from memory", Address: address, Fuel: reserved(c.db), Request: func(row int64) target.Request {
		request := door.Request(row)
		request.Want = ""
		return request
	}}, nil
}
