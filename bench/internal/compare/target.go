// Package compare measures several ways to do one thing against each other.
//
// The same machine, asked twice, gives rates that differ by half. So only contenders that took turns are compared: they run
// in short blocks, A B C, C B A, A B C and so on, and each ratio is taken within one pass. Before each block is a checkpoint
// and a warm-up. A block with an error or a miss makes the whole comparison void.
package compare

import (
	"context"

	"fencepost/bench/internal/load"
)

// Target is one way to do an operation: the database alone, Fencepost through one of its doors, or a peer.
type Target interface {
	// Name says which, in the report.
	Name() string

	// Prepare makes what the next ops operations will use up, such as jobs to cancel. Reads need nothing.
	Prepare(ctx context.Context, ops int64) error

	// Run does the operation over and over, from [load.Clients] clients, until the bound.
	Run(ctx context.Context, b load.Bound) (load.Sample, error)
}

// Paced is a target that can also be asked at a rate, for its latency.
type Paced interface {
	Target

	// RunAt does the operation at a rate a second.
	RunAt(ctx context.Context, rate float64, b load.Bound) (Latency, error)
}

// Latency tells how long calls took, in microseconds from the moment that each was due.
type Latency struct {
	Rate          float64 `json:"rate"`
	P50           int64   `json:"p50"`
	P99           int64   `json:"p99"`
	P999          int64   `json:"p99_9"`
	Max           int64   `json:"max"`
	ErrorsOrMiss  int64   `json:"errors_or_misses"`
	NumberOfCalls int64   `json:"calls"`
}
