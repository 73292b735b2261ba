package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/dunglas/httpsfv"

	"fencepost/jobtype"
)

// request is one call, which may take several attempts.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
}

// answer is what the server says when it refuses nothing.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// read is a request without effects.
func read(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, query: query, header: http.Header{}}
}

// write is a request under a key, which is sent as an RFC 9651 String. A key that cannot be one is refused here, because it
// would not pass the network in one piece.
func write(path, key string, body []byte) (request, error) {
	quoted, err := httpsfv.Marshal(httpsfv.NewItem(key))
	if err != nil {
		return request{}, errInvalidKey
	}
	header := http.Header{"Idempotency-Key": {quoted}, "Content-Type": {"application/json"}}
	return request{method: http.MethodPost, path: path, header: header, body: body}, nil
}

// errInvalidKey is what the server would answer.
var errInvalidKey = knownProblem(jobtype.CodeInvalidIdempotencyKey)

func knownProblem(code Code) *Problem {
	d := code.Define()
	return &Problem{Code: code, Status: d.Status, Title: d.Title, Detail: d.Detail}
}

// fetch calls the server and reads the JSON of its answer.
func fetch[T any](ctx context.Context, c *Client, r request) (value T, header http.Header, err error) {
	a, err := c.call(ctx, r)
	if err != nil {
		return value, nil, err
	}
	return value, a.header, decode(a.body, &value)
}

func decode(body []byte, value any) error {
	if err := json.Unmarshal(body, value); err != nil {
		return fmt.Errorf("the answer is not one of a Fencepost server: %w", err)
	}
	return nil
}

// call makes attempts until one is answered for good or the time is up.
func (c *Client) call(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	for tries := 0; ; tries++ {
		a, err := c.attempt(ctx, r)
		if err == nil || ctx.Err() != nil || !worthRetrying(err) {
			return a, err
		}
		wait := backoff(tries)
		if p, ok := errors.AsType[*Problem](err); ok {
			wait = max(wait, p.RetryAfter)
		}
		if !timeFor(ctx, wait) {
			return a, err
		}
		c.onRetry(err, wait)
		if pause(ctx, wait) != nil {
			return a, err
		}
	}
}

// attempt sends the request once.
func (c *Client) attempt(ctx context.Context, r request) (answer, error) {
	target := c.base.JoinPath(r.path)
	target.RawQuery = r.query.Encode()
	// A URL that was made from a parsed one can be parsed again.
	message, _ := http.NewRequestWithContext(ctx, r.method, target.String(), bytes.NewReader(r.body))
	message.Header = r.header.Clone()
	message.Header.Set("User-Agent", c.userAgent)
	if c.user != "" {
		message.SetBasicAuth(c.user, c.password)
	}
	a, err := c.send(message)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if a.status != http.StatusOK && a.status != http.StatusAccepted && a.status != http.StatusNotModified {
		return answer{}, newProblem(a)
	}
	return a, nil
}

func (c *Client) send(message *http.Request) (answer, error) {
	response, err := c.http.Do(message)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: body}, err
}

const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
)

// backoff doubles with each try, and is shortened at random by up to a half, so that clients do not come back all at once.
func backoff(tries int) time.Duration {
	longest := min(firstBackoff<<min(tries, 10), lastBackoff)
	return longest - rand.N(longest/2) //nolint:gosec // spreads load, keeps no secret
}

// timeFor reports whether a wait would end before the deadline, so that it can be of use.
func timeFor(ctx context.Context, wait time.Duration) bool {
	deadline, bounded := ctx.Deadline()
	return !bounded || time.Until(deadline) > wait
}

// pause returns after the wait, or with an error when ctx ends first.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
