package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// defaultPollInterval is for a server, or something before it, that does not say how long to wait.
const defaultPollInterval = time.Second

// Watch returns the job as it is, and then again after each change that is seen, until it has ended. It asks as often as the
// server's Retry-After allows, with If-None-Match (RFC 9110 section 13.1.2), so that an unchanged job costs next to nothing.
// Quick changes between two looks are seen as one. It ends after an error.
func (c *Client) Watch(ctx context.Context, id uuid.UUID) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for tag := ""; ; {
			a, err := c.poll(ctx, id, tag)
			if err == nil && a.status != http.StatusNotModified {
				var job Job
				err = decode(a.body, &job)
				if err == nil && (!yield(job, nil) || job.Status.Terminal()) {
					return
				}
			}
			if err == nil {
				tag = a.header.Get("ETag")
				err = pause(ctx, pollInterval(a.header))
			}
			if err != nil {
				yield(Job{}, err)
				return
			}
		}
	}
}

// poll asks for the job, unless it is still the one that the tag stands for.
func (c *Client) poll(ctx context.Context, id uuid.UUID, tag string) (answer, error) {
	r := read(jobPath(id), nil)
	if tag != "" {
		r.header.Set("If-None-Match", tag)
	}
	return c.call(ctx, r)
}

func pollInterval(header http.Header) time.Duration {
	if wait := retryAfter(header); wait > 0 {
		return wait
	}
	return defaultPollInterval
}
