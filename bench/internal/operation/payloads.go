package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// Payloads submits ever larger payloads, eight at once.
type Payloads struct{}

// Title implements Operation.
func (Payloads) Title() string { return "payloads" }

const (
	payloadsAtOnce = 8
	// maxPayload is the greatest that can be allowed.
	maxPayload = 64 << 20
)

// Measure implements Operation.
func (o Payloads) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	result := compare.Measured(o.Title(), "")
	url, err := e.Empty(ctx, "payloads")
	if err != nil {
		return result, err
	}
	db := &Database{URL: url, Fuel: seed.NewFuel(url)}
	memory := compare.Curve{Name: "Peak memory of serve by payload", X: "KiB of a payload, eight at once", Y: "MiB"}
	for size := 1 << 10; size <= maxPayload; size *= 4 {
		mebibytes, err := o.peak(ctx, e, db, size)
		if err != nil {
			return result, err
		}
		memory.Add(float64(size>>10), mebibytes)
	}
	result.Curves = append(result.Curves, memory)
	return result, nil
}

func (Payloads) peak(ctx context.Context, e *Env, db *Database, size int) (float64, error) {
	flags := slices.Concat(e.ServeFlags, []string{"--max-payload-bytes", fmt.Sprint(maxPayload), "--lock-timeout", "1m"})
	server, err := e.Fencepost.Serve(ctx, db.URL, flags...)
	if err != nil {
		return 0, err
	}
	defer server.Stop() //nolint:errcheck // its memory is known by then
	payload := payloadOf(size)
	first := db.Fuel.Reserve(payloadsAtOnce)
	t := &target.HTTP{Address: server.Address, Request: func(row int64) target.Request {
		r := restSubmit(first + row)
		r.Body = payload
		return r
	}}
	sample, err := t.Run(ctx, load.Bound{Ops: payloadsAtOnce})
	if err != nil {
		return 0, err
	}
	if sample.Errors+sample.Misses > 0 {
		return 0, errors.New(sample.FirstError)
	}
	bytes, err := server.PeakMemory()
	return float64(bytes) / (1 << 20), err
}

// payloadOf is one record that makes a batch of a size in bytes.
func payloadOf(size int) string {
	const around = `[{"id":"record","text":""}]`
	return `[{"id":"record","text":"` + strings.Repeat("x", size-len(around)) + `"}]`
}
