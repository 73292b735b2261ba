package rest

import (
	"context"

	"fencepost/internal/job"
)

type attemptsRepresentation struct {
	Attempts   []attemptRepresentation `json:"attempts"`
	NextCursor string                  `json:"nextCursor,omitempty"`
}

// attemptRepresentation is an attempt with its times in full.
type attemptRepresentation struct {
	job.Attempt
	StartedAt string `json:"startedAt"`
	EndedAt   string `json:"endedAt"`
}

// listAttempts pages through the attempts of a job that did not end it.
func (h *handler) listAttempts() endpoint {
	return endpoint{mediaType: "application/json", answer: func(ctx context.Context, r request) (response, error) {
		query, err := parseQuery(r.query, "limit", "cursor")
		if err != nil {
			return response{}, err
		}
		page, err := h.Service.AttemptsOf(ctx, r.owner, r.id, query.page)
		if err != nil {
			return response{}, err
		}
		return query.link(represent(newAttempts(page)), jobsPath+"/"+r.id+"/attempts", page.Next()), nil
	}}
}

func newAttempts(page job.AttemptPage) attemptsRepresentation {
	attempts := make([]attemptRepresentation, len(page.Attempts))
	for i, a := range page.Attempts {
		attempts[i] = attemptRepresentation{a, timestamp(a.StartedAt), timestamp(a.EndedAt)}
	}
	return attemptsRepresentation{attempts, page.Next()}
}
