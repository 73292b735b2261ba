package rest

import (
	"context"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

type lineageRepresentation struct {
	RootJobRecordID uuid.UUID              `json:"rootJobRecordId"`
	JobRecordID     string                 `json:"jobRecordId"`
	GenerationCount int                    `json:"generationCount"`
	JobCount        int                    `json:"jobCount"`
	Jobs            []statusRepresentation `json:"jobs"`
	Edges           []edgeRepresentation   `json:"edges"`
	NextCursor      string                 `json:"nextCursor,omitempty"`
}

type edgeRepresentation struct {
	SourceJobRecordID  uuid.UUID `json:"sourceJobRecordId"`
	DerivedJobRecordID uuid.UUID `json:"derivedJobRecordId"`
	Generation         int       `json:"generation"`
}

// getLineage pages through all jobs that come from the same root, by generation and then by creation. An edge is on the
// page of its derived job.
func (h *handler) getLineage() endpoint {
	return endpoint{mediaType: "application/json", answer: func(ctx context.Context, r request) (response, error) {
		query, err := parseQuery(r.query, "limit", "cursor")
		if err != nil {
			return response{}, err
		}
		page, err := h.Service.LineagePage(ctx, r.owner, r.id, query.page)
		if err != nil {
			return response{}, err
		}
		resp := represent(newLineage(r.id, page))
		return query.link(resp, jobsPath+"/"+r.id+"/lineage", page.Next()), nil
	}}
}

func newLineage(id string, page job.LineagePage) lineageRepresentation {
	return lineageRepresentation{
		RootJobRecordID: page.RootID,
		JobRecordID:     id,
		GenerationCount: page.GenerationCount,
		JobCount:        page.JobCount,
		Jobs:            newStatuses(page.Jobs),
		Edges:           newEdges(job.Edges(page.Jobs)),
		NextCursor:      page.Next(),
	}
}

func newEdges(edges []job.Edge) []edgeRepresentation {
	representations := make([]edgeRepresentation, len(edges))
	for i, e := range edges {
		representations[i] = edgeRepresentation{SourceJobRecordID: e.Source, DerivedJobRecordID: e.Derived, Generation: e.Generation}
	}
	return representations
}
