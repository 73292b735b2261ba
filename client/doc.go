// Package client speaks to the REST API of a Fencepost server.
//
// A job is a batch of records that the server loads exactly once. A client submits it, follows it until it has ended,
// cancels it, and replays it when it failed or was cancelled:
//
//	c, err := client.New(client.WithBaseURL("https://etl.example.com"), client.WithCredentials("ann", password))
//	accepted, err := c.Submit(ctx, client.NewKey(), []byte(`[{"id":"a"}]`))
//	for job, err := range c.Watch(ctx, accepted.ID) { … }
//
// # Keys and retries
//
// Every write carries an idempotency key, which stands for one write: sent again under the same key, it has no second
// effect, and its answer is the job of the first time. That makes it safe to try again when nobody knows whether the
// server did it. A call does so by itself, under the same key, when the connection is lost and when the server answers
// that it cannot decide now (409 …_in_progress, 429, 502, 503, 504). It waits at least as long as Retry-After asks
// (RFC 9110 section 10.2.3), and gives up at the deadline of its context or when its patience ends, see [WithPatience].
//
// A program that may itself be stopped in between keeps the key together with its records until the call has returned,
// and uses it again when it is started again.
//
// # Errors
//
// A refusal by the server is a [*Problem] (RFC 9457), found with [errors.As] or [errors.AsType]. A server that could not
// be reached is [ErrUnreachable].
package client
