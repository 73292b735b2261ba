package main

import (
	"fmt"
	"time"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/operation"
)

// profileNamed returns a profile.
func profileNamed(name string) (operation.Profile, error) {
	profiles := map[string]operation.Profile{"smoke": smoke(), "quick": quick(), "full": full(), "cliffs": cliffsOnly(), "tracing": tracingOnly()}
	p, found := profiles[name]
	if !found {
		return p, fmt.Errorf("--profile must be smoke, quick, full, cliffs or tracing, not %q", name)
	}
	p.Name = name
	return p, nil
}

// smoke only shows that everything works.
func smoke() operation.Profile {
	return operation.Profile{
		Sizes: []int64{40_000, 100_000},
		Main:  100_000,
		Reads: compare.Plan{Passes: 2, Warm: seconds(1), Measured: seconds(1), Latency: time.Second},
		Writes: compare.Plan{
			Passes: 2, Warm: operations(640), Measured: operations(1600), Latency: time.Second,
		},
		Workers: jobs(2, 1000),
		Timed:   40,
		Traced:  true,
		Cliffs: operation.Cliffs{
			OwnerJobs: 50_000, Backlog: 20_000, Expired: 40_000, Flood: 40_000, Probes: 20, Streams: 500, Lives: 20_000,
		},
	}
}

// quick is for every day: some ten minutes.
func quick() operation.Profile {
	return operation.Profile{
		Sizes: []int64{100_000, 1_000_000},
		Main:  1_000_000,
		Reads: compare.Plan{Passes: 4, Warm: seconds(1), Measured: seconds(2), Latency: 2 * time.Second},
		Writes: compare.Plan{
			Passes: 4, Warm: operations(1600), Measured: operations(6400), Latency: 2 * time.Second,
		},
		Workers: jobs(4, 8000),
		Timed:   200,
	}
}

// full is all that there is, in more than an hour: what quick has, up to ten million rows, with plots and cliffs.
func full() operation.Profile {
	p := quick()
	p.Sizes = append(p.Sizes, 10_000_000)
	p.Plots, p.Traced, p.Cliffs = true, true, extremes()
	return p
}

// tracingOnly tells in some five minutes what traces cost, and measures nothing else that quick does.
func tracingOnly() operation.Profile {
	p := quick()
	p.Sizes, p.Reads.Passes, p.Writes.Passes, p.Traced = nil, 8, 8, true
	return p
}

// cliffsOnly looks for cliffs in some twenty minutes, and measures nothing else that quick does.
func cliffsOnly() operation.Profile {
	p := quick()
	p.Sizes, p.Reads.Passes, p.Cliffs = nil, 4, extremes()
	return p
}

// extremes are those of docs/performance.md.
func extremes() operation.Cliffs {
	return operation.Cliffs{
		OwnerJobs: 5_000_000, Backlog: 1_000_000, Expired: 1_000_000, Flood: 200_000, Probes: 200, Streams: 10_000, Lives: 1_000_000,
	}
}

// jobs is the plan of workers, with a number of jobs in each block.
func jobs(passes int, n int64) compare.Plan {
	return compare.Plan{Passes: passes, Measured: load.Bound{Ops: n}}
}

func seconds(n int) load.Bound { return load.Bound{Duration: time.Duration(n) * time.Second} }

// operations must be a multiple of the number of clients, because each of them does the same share.
func operations(n int64) load.Bound { return load.Bound{Ops: n / load.Clients * load.Clients} }
