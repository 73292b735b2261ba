package operation

import (
	"context"
	"errors"
	"fmt"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/target"
)

// A goal must not fall by more than 5% from the old binary to this version: its rate, or the other way round its time or size.
const (
	leastOfOld    = 0.95
	greatestOfOld = 1 / leastOfOld
)

func against(name, over, under string) compare.Goal {
	return compare.Goal{Name: name + ", new / old", Over: over, Under: under, Must: leastOfOld, Aim: 1}
}

// oldDoor is the same door of the old binary, on the same database. The first call for a database starts its server.
func (e *Env) oldDoor(ctx context.Context, db *Database, door *target.HTTP) (*target.HTTP, error) {
	if db.old == nil {
		server, err := e.Old.Serve(ctx, db.URL, e.ServeFlags...)
		if err != nil {
			return nil, err
		}
		db.old = server
		e.closers = append(e.closers, server.Stop)
	}
	old := *door
	old.Label, old.Address = "old "+door.Label, db.old.Address
	return &old, nil
}

// versions are this one, and the old one if there is one.
func (e *Env) versions() []*process.Fencepost {
	if e.Old == nil {
		return []*process.Fencepost{e.Fencepost}
	}
	return []*process.Fencepost{e.Fencepost, e.Old}
}

// as is the same with another version or environment of the product. Whoever asks for it closes it.
func (e *Env) as(version *process.Fencepost) *Env {
	v := *e
	v.Fencepost, v.closers = version, nil
	return &v
}

// versionPasses is how often each version takes its turn when a time or a size is measured.
const versionPasses = 2

// bounded is a time or size that must not be greater.
type bounded struct {
	name, unit string
	must, aim  float64
	// measure measures it in a database whose name nothing else has. void is why the value is worth nothing.
	measure func(ctx context.Context, e *Env, database string) (value float64, void string, err error)
}

// bound measures a time or a size of each version in turns.
func (e *Env) bound(ctx context.Context, r *compare.Result, b bounded) error {
	values := map[*process.Fencepost][]float64{}
	for pass := range versionPasses {
		for _, version := range compare.Turn(pass, e.versions()) {
			v := e.as(version)
			e.measured++
			value, void, err := b.measure(ctx, v, fmt.Sprintf("measured_%d", e.measured))
			if err = errors.Join(err, v.Close()); err != nil {
				return err
			}
			if void != "" {
				r.Void = void
			}
			values[version] = append(values[version], value)
		}
	}
	r.Goals = append(r.Goals, compare.AtMost(b.name, b.unit, b.must, b.aim, values[e.Fencepost]...))
	if e.Old != nil {
		ratios := values[e.Old]
		for pass, old := range ratios {
			ratios[pass] = values[e.Fencepost][pass] / old
		}
		r.Goals = append(r.Goals, compare.AtMost(b.name+", new / old", "", greatestOfOld, 1, ratios...))
	}
	return nil
}
