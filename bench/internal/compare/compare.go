package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

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
	// Tails are ratios between the latencies of two of them at one rate.
	Tails []Tail
}

// Goal is a ratio that is to be reached.
type Goal struct {
	// Name is what the report calls it.
	Name string
	// Over and Under are the names of the targets whose rates make the ratio.
	Over, Under string
	// With names a target that every operation has to pass besides Under, when it isn't empty. On the same processors, the rate of the
	// two together is 1 / (1/Under + 1/With).
	With string
	// Must and Aim are the least ratio and the wanted one.
	Must, Aim float64
}

// Plan says how long a comparison takes.
type Plan struct {
	// Passes is how often each target has its turn.
	Passes int
	// Warm and Measured bound the two parts of a block.
	Warm, Measured load.Bound
	// Latency is how long a run at half of the measured rate takes.
	Latency time.Duration
}

// Tail is how much longer than another target's the slowest calls of a target may take, at half of its greatest rate for both.
type Tail struct {
	// Name is what the report calls it.
	Name string
	// Of and Beside are the two.
	Of, Beside Paced
	// Must and Aim are the greatest ratio of the 99th percentiles and the wanted one.
	Must, Aim float64
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
	for _, t := range c.Tails {
		if err := r.measureTail(ctx, t, p); err != nil {
			return r, fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	return r, nil
}

// turn is the order of a pass: every second one is backwards, so that a drift of the machine favours nobody.
func (c Comparison) turn(pass int) []Target { return Turn(pass, c.Targets) }

// Turn is the order of what takes turns, in a pass.
func Turn[T any](pass int, of []T) []T {
	order := slices.Clone(of)
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

// tailPasses is how often the two of a tail take turns.
const tailPasses = 3

// measureTail asks both at half of the rate of the first. The report has the latencies of the last pass.
func (r *Result) measureTail(ctx context.Context, t Tail, p Plan) error {
	rate := r.Rates[t.Of.Name()].Median / 2
	bound := load.Bound{Ops: int64(rate * p.Latency.Seconds())}
	beside := t.Beside.Name() + " at the rate of " + t.Of.Name()
	var ratios []float64
	for pass := range tailPasses {
		for _, paced := range Turn(pass, []Paced{t.Of, t.Beside}) {
			if err := paced.Prepare(ctx, bound.Ops); err != nil {
				return err
			}
			latency, err := paced.RunAt(ctx, rate, bound)
			if err != nil {
				return err
			}
			name := paced.Name()
			if paced == t.Beside {
				name = beside
			}
			r.Latency[name] = latency
			if latency.ErrorsOrMiss > 0 {
				r.Void = fmt.Sprintf("%s had %d errors or misses at half of its rate", name, latency.ErrorsOrMiss)
			}
		}
		ratios = append(ratios, float64(r.Latency[t.Of.Name()].P99)/float64(max(1, r.Latency[beside].P99)))
	}
	r.Goals = append(r.Goals, AtMost(t.Name, "", t.Must, t.Aim, ratios...))
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
	over, under, with := r.rates(g.Over), r.rates(g.Under), r.rates(g.With)
	ratios := make([]float64, len(over))
	for pass := range over {
		seconds := 1 / under[pass]
		if g.With != "" {
			seconds += 1 / with[pass]
		}
		ratios[pass] = over[pass] * seconds
	}
	return Verdict{Name: g.Name, Must: g.Must, Aim: g.Aim, Measured: rangeOf(ratios)}
}
