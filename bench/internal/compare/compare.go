package compare

import (
	"context"
	"fmt"
	"slices"

	"fencepost/bench/internal/load"
)

// Comparison is one operation, done by several targets in turns.
type Comparison struct {
	// Name is the operation's.
	Name string
	// Targets take turns in this order, and then in the opposite one.
	Targets []Target
	// Goals are ratios between two of them.
	Goals []Goal
}

// Goal is a ratio that is to be reached.
type Goal struct {
	// Name is what the report calls it.
	Name string
	// Over and Under are the names of the targets whose rates make the ratio.
	Over, Under string
	// Must and Aim are the least ratio and the wanted one.
	Must, Aim float64
}

// Plan says how long a comparison takes.
type Plan struct {
	// Passes is how often each target has its turn.
	Passes int
	// Warm and Measured bound the two parts of a block.
	Warm, Measured load.Bound
	// Latency bounds the run at half of the measured rate; zero leaves it out.
	Latency load.Bound
}

// Block is one turn of one target.
type Block struct {
	Target     string  `json:"target"`
	Pass       int     `json:"pass"`
	Ops        int64   `json:"ops"`
	Seconds    float64 `json:"seconds"`
	Rate       float64 `json:"rate"`
	Errors     int64   `json:"errors"`
	Misses     int64   `json:"misses"`
	FirstError string  `json:"first_error,omitempty"`
}

// Result is what a comparison came to.
type Result struct {
	Name    string             `json:"name"`
	Blocks  []Block            `json:"blocks,omitempty"`
	Rates   map[string]Range   `json:"rates,omitempty"`
	Latency map[string]Latency `json:"latency,omitempty"`
	Goals   []Verdict          `json:"goals"`
	Curves  []Curve            `json:"curves,omitempty"`
	Numbers []Number           `json:"numbers,omitempty"`
	// Void is why the result is worth nothing; empty when it is valid.
	Void string `json:"void,omitempty"`
}

// Run measures. checkpoint is called before each block.
func (c Comparison) Run(ctx context.Context, p Plan, checkpoint func(context.Context) error) (Result, error) {
	r := Result{Name: c.Name, Rates: map[string]Range{}, Latency: map[string]Latency{}}
	for pass := range p.Passes {
		for _, t := range c.turn(pass) {
			block, err := runBlock(ctx, t, p, checkpoint)
			if err != nil {
				return r, fmt.Errorf("%s, %s: %w", c.Name, t.Name(), err)
			}
			block.Pass = pass
			r.Blocks = append(r.Blocks, block)
			if block.Errors+block.Misses > 0 && r.Void == "" {
				r.Void = fmt.Sprintf("%s had %d errors and %d misses: %s", t.Name(), block.Errors, block.Misses, block.FirstError)
			}
		}
	}
	for _, t := range c.Targets {
		r.Rates[t.Name()] = rangeOf(r.rates(t.Name()))
	}
	for _, g := range c.Goals {
		r.Goals = append(r.Goals, r.judge(g))
	}
	return r, c.measureLatency(ctx, p, &r)
}

// turn is the order of a pass: every second one is backwards, so that a drift of the machine favours nobody.
func (c Comparison) turn(pass int) []Target {
	order := slices.Clone(c.Targets)
	if pass%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

func runBlock(ctx context.Context, t Target, p Plan, checkpoint func(context.Context) error) (Block, error) {
	if err := t.Prepare(ctx, p.Warm.Ops+p.Measured.Ops); err != nil {
		return Block{}, err
	}
	if err := checkpoint(ctx); err != nil {
		return Block{}, err
	}
	if p.Warm != (load.Bound{}) {
		if _, err := t.Run(ctx, p.Warm); err != nil {
			return Block{}, err
		}
	}
	s, err := t.Run(ctx, p.Measured)
	return Block{
		Target: t.Name(), Ops: s.Ops, Seconds: s.Elapsed.Seconds(), Rate: s.Rate(),
		Errors: s.Errors, Misses: s.Misses, FirstError: s.FirstError,
	}, err
}

// measureLatency asks each target that can be paced at half of its own median rate.
func (c Comparison) measureLatency(ctx context.Context, p Plan, r *Result) error {
	if p.Latency == (load.Bound{}) {
		return nil
	}
	for _, t := range c.Targets {
		paced, ok := t.(Paced)
		if !ok {
			continue
		}
		rate := r.Rates[t.Name()].Median / 2
		bound := load.Bound{Ops: int64(rate * p.Latency.Duration.Seconds())}
		if err := t.Prepare(ctx, bound.Ops); err != nil {
			return err
		}
		_, latency, err := paced.RunAt(ctx, rate, bound)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", c.Name, t.Name(), err)
		}
		r.Latency[t.Name()] = latency
	}
	return nil
}

func (r Result) rates(target string) []float64 {
	var rates []float64
	for _, b := range r.Blocks {
		if b.Target == target {
			rates = append(rates, b.Rate)
		}
	}
	return rates
}

// judge takes the ratio of each pass.
func (r Result) judge(g Goal) Verdict {
	over, under := r.rates(g.Over), r.rates(g.Under)
	ratios := make([]float64, len(over))
	for pass := range over {
		ratios[pass] = over[pass] / under[pass]
	}
	return Verdict{Name: g.Name, Must: g.Must, Aim: g.Aim, Measured: rangeOf(ratios)}
}
