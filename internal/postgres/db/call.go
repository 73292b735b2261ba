package db

import (
	"context"
	"errors"

	"fencepost/internal/job"
)

// MaxTries bounds how often one call is tried.
const MaxTries = 3

// Call runs one verb within the call timeout, in a span of its own, and [DB.Try]s it.
func (d DB) Call(ctx context.Context, verb string, try func(context.Context) error) error {
	ctx, span := beginSpan(ctx, verb)
	err := d.Try(ctx, verb, try)
	endSpan(span, err)
	return err
}

// Query is a [DB.Call] that sends some queries and does no more.
func (d DB) Query(ctx context.Context, verb string, queries ...Query) error {
	return d.Call(ctx, verb, func(ctx context.Context) error { return d.Send(ctx, queries...) })
}

// Try runs one verb within the call timeout. It tries again after a serialization failure, a deadlock or a lost connection. When the
// lost call may have committed that is safe too: every write has a key or an exact lease, so the second try finds what the first one
// did. Its errors are those of a [job.Store].
func (d DB) Try(ctx context.Context, verb string, try func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	var err error
	for range MaxTries {
		err = try(bounded)
		if !retryable(err) || bounded.Err() != nil {
			break
		}
		if pool, pooled := d.conn.(interface{ Reset() }); pooled && !conflict(err) {
			pool.Reset() // the other idle connections are probably lost too, and no try should go to finding that out
		}
	}
	classified := Classify(ctx, verb, err)
	if d.unavailable != nil && errors.Is(classified, job.ErrUnavailable) {
		d.unavailable(SQLState(err))
	}
	return classified
}
