package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/google/uuid"
)

// lineageReads is how often a lineage is read again because it grew between two pages.
const lineageReads = 5

var errUnsteady = errors.New("the lineage kept growing while it was read")

// Lineage returns a job's root and everything derived from it, with all of its pages. Each job's source comes before it.
func (c *Client) Lineage(ctx context.Context, id uuid.UUID) (Lineage, error) {
	for range lineageReads {
		l, err := c.readLineage(ctx, id)
		if err != nil || l.connected() {
			return l, err
		}
	}
	return Lineage{}, errUnsteady
}

func (c *Client) readLineage(ctx context.Context, id uuid.UUID) (Lineage, error) {
	type page struct {
		Lineage
		NextCursor string `json:"nextCursor"`
	}
	var whole Lineage
	for query := (url.Values{"limit": {"100"}}); ; {
		p, _, err := fetch[page](ctx, c, read(jobPath(id)+"/lineage", query))
		if err != nil {
			return Lineage{}, err
		}
		p.Jobs, p.Edges = append(whole.Jobs, p.Jobs...), append(whole.Edges, p.Edges...)
		whole = p.Lineage
		if p.NextCursor == "" {
			return whole, nil
		}
		query.Set("cursor", p.NextCursor)
	}
}

// connected reports whether the job asked for is there and each job's source comes before it. A replay of a replay that
// arrives between two pages can be seen without its source, which belongs on the earlier one.
func (l Lineage) connected() bool {
	seen := map[uuid.UUID]bool{uuid.Nil: true} // the root has no source
	for _, job := range l.Jobs {
		if !seen[job.SourceID] {
			return false
		}
		seen[job.ID] = true
	}
	return seen[l.JobID]
}

// Provenance returns the lineage as W3C PROV-O in JSON-LD, for tools that read provenance.
func (c *Client) Provenance(ctx context.Context, id uuid.UUID) (json.RawMessage, error) {
	r := read(jobPath(id)+"/provenance", nil)
	r.header.Set("Accept", "application/ld+json")
	document, _, err := fetch[json.RawMessage](ctx, c, r)
	return document, err
}
