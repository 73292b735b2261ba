package rest

import (
	"context"
	"net/http"

	"fencepost/internal/job"
)

type listRepresentation struct {
	Jobs       []statusRepresentation `json:"jobs"`
	NextCursor string                 `json:"nextCursor,omitempty"`
}

// listJobs pages through the owner's jobs, newest first.
func (h *handler) listJobs() endpoint {
	return endpoint{mediaType: "application/json", answer: func(ctx context.Context, r request) (response, error) {
		query, err := parseQuery(r.query, "limit", "cursor", "status", "replay")
		if err != nil {
			return response{}, err
		}
		filter, err := query.filter()
		if err != nil {
			return response{}, err
		}
		page, err := h.Service.List(ctx, r.owner, filter, query.page)
		if err != nil {
			return response{}, err
		}
		resp := represent(listRepresentation{Jobs: newStatuses(page.Jobs), NextCursor: page.Next()})
		return query.link(resp, jobsPath, page.Next()), nil
	}}
}

// submitJob makes a job from a batch of records.
func (h *handler) submitJob() endpoint {
	return endpoint{
		operation: job.OperationSubmit, body: requiredBody, mediaType: "application/json",
		answer: func(ctx context.Context, r request) (response, error) {
			accepted, err := h.Service.Submit(ctx, r.owner, r.key, r.body)
			return created(accepted), err
		},
	}
}

// created answers 202: the job is durably there, and nothing is promised about its end.
func created(a job.Accepted) response {
	header := replayed(a)
	header["Location"] = statusURL(a.Job)
	return response{status: http.StatusAccepted, header: header, body: encode(newAccepted(a.Job))}
}
