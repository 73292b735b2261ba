package client

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"
)

const jobsPath = "/api/etl/jobs"

func jobPath(id uuid.UUID) string { return jobsPath + "/" + id.String() }

// Submit makes a job from a batch: the text of a JSON array of records, each an object with a string "id". The server keeps
// it byte for byte. One key stands for one batch, and with another it is refused.
func (c *Client) Submit(ctx context.Context, key string, batch []byte) (Accepted, error) {
	return c.create(ctx, jobsPath, key, batch)
}

// Replay makes a new job from a failed or cancelled one, which itself stays as it is. The batch must be the source's, byte
// for byte. One key stands for one replay; another key makes another replay of the same source.
func (c *Client) Replay(ctx context.Context, source uuid.UUID, key string, batch []byte) (Accepted, error) {
	return c.create(ctx, jobPath(source)+"/replays", key, batch)
}

func (c *Client) create(ctx context.Context, path, key string, batch []byte) (Accepted, error) {
	r, err := write(path, key, batch)
	if err != nil {
		return Accepted{}, err
	}
	accepted, header, err := fetch[Accepted](ctx, c, r)
	accepted.Replayed = replayed(header)
	return accepted, err
}

// A CancelOption says more of a cancellation.
type CancelOption func(*cancellation)

// cancellation is the body of the request.
type cancellation struct {
	ReasonCode string `json:"reasonCode,omitempty"`
}

// WithReason says why: one of the codes that the server's operator has listed, or none when it is empty. With another one the
// [Problem] has those that are allowed.
func WithReason(code string) CancelOption {
	return func(c *cancellation) { c.ReasonCode = code }
}

// Cancel ends a pending or running job without effects. When the job ended first, the [Problem] says how. One key stands for one
// reason too.
func (c *Client) Cancel(ctx context.Context, id uuid.UUID, key string, options ...CancelOption) (Cancelled, error) {
	r, err := write(jobPath(id)+"/cancellation", key, cancellationBody(options))
	if err != nil {
		return Cancelled{}, err
	}
	cancelled, header, err := fetch[Cancelled](ctx, c, r)
	cancelled.Replayed = replayed(header)
	return cancelled, err
}

func cancellationBody(options []CancelOption) []byte {
	var c cancellation
	for _, option := range options {
		option(&c)
	}
	body, _ := json.Marshal(c) // a text always marshals
	return body
}

func replayed(header http.Header) bool { return header.Get("Idempotency-Replayed") == "true" }

// Get returns a job as it is now.
func (c *Client) Get(ctx context.Context, id uuid.UUID) (Job, error) {
	job, _, err := fetch[Job](ctx, c, read(jobPath(id), nil))
	return job, err
}

// List returns the user's jobs, newest first. It asks for the next page when the loop gets there, and ends after an error.
func (c *Client) List(ctx context.Context, f Filter) iter.Seq2[Job, error] {
	type page struct {
		Jobs       []Job  `json:"jobs"`
		NextCursor string `json:"nextCursor"`
	}
	return paged(ctx, c, jobsPath, f.query(), func(p page) ([]Job, string) { return p.Jobs, p.NextCursor })
}

// Attempts returns the attempts of a job that did not end it, and the workers that came back too late, by number.
func (c *Client) Attempts(ctx context.Context, id uuid.UUID) ([]Attempt, error) {
	type page struct {
		Attempts   []Attempt `json:"attempts"`
		NextCursor string    `json:"nextCursor"`
	}
	attempts := []Attempt{}
	for attempt, err := range paged(ctx, c, jobPath(id)+"/attempts", url.Values{"limit": {"100"}},
		func(p page) ([]Attempt, string) { return p.Attempts, p.NextCursor }) {
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, attempt)
	}
	return attempts, nil
}

// paged goes through the pages of a list, each of which has its items and the cursor of the next one. Each loop begins anew.
func paged[Page, Item any](
	ctx context.Context, c *Client, path string, first url.Values, content func(Page) (items []Item, next string),
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for query, more := maps.Clone(first), true; more; {
			p, _, err := fetch[Page](ctx, c, read(path, query))
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			items, next := content(p)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			query.Set("cursor", next)
			more = next != ""
		}
	}
}

func (f Filter) query() url.Values {
	query := url.Values{}
	for _, status := range f.Statuses {
		query.Add("status", string(status))
	}
	if f.Replay != nil {
		query.Set("replay", strconv.FormatBool(*f.Replay))
	}
	if f.PageSize != 0 {
		query.Set("limit", strconv.Itoa(f.PageSize))
	}
	return query
}
