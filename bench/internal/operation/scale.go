package operation

import (
	"context"
	"errors"
	"fmt"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/target"
)

// Scale runs jobs with ever more executors, and with ever more processes.
type Scale struct{}

// Title implements Operation.
func (Scale) Title() string { return "workers and processes" }

// Measure implements Operation.
func (o Scale) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	result := compare.Measured(o.Title(), "")
	url, err := e.Empty(ctx, "scale")
	if err != nil {
		return result, err
	}
	pool, err := e.pool(ctx, url)
	if err != nil {
		return result, err
	}
	worker := target.Worker{Fencepost: e.Fencepost, DatabaseURL: url, Pool: pool}
	executors := compare.Curve{Name: "Rate of jobs by executors", X: "executors", Y: "a second"}
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64} {
		worker.Flags = []string{"--workers", fmt.Sprint(n), "--pool-size", fmt.Sprint(n + n/4 + 1)}
		if err := addRate(ctx, e, &executors, n, &worker); err != nil {
			return result, err
		}
	}
	processes := compare.Curve{Name: "Rate of jobs by processes", X: "processes", Y: "a second"}
	worker.Flags = e.WorkFlags
	for _, n := range []int{1, 2, 3, 4} {
		worker.Processes = n
		if err := addRate(ctx, e, &processes, n, &worker); err != nil {
			return result, err
		}
	}
	result.Curves = append(result.Curves, executors, processes)
	return result, nil
}

func addRate(ctx context.Context, e *Env, to *compare.Curve, x int, w *target.Worker) error {
	if err := w.Prepare(ctx, e.Workers.Measured.Ops); err != nil {
		return err
	}
	if err := e.Cluster.Checkpoint(ctx); err != nil {
		return err
	}
	sample, err := w.Run(ctx, e.Workers.Measured)
	if err == nil && sample.Misses > 0 {
		err = errors.New(sample.FirstError)
	}
	to.Add(float64(x), sample.Rate())
	return err
}
