package rest

import (
	"context"
	"net/http"

	"fencepost/internal/job"
)

type healthRepresentation struct {
	Status string `json:"status"`
}

var healthy = response{status: http.StatusOK, body: encode(healthRepresentation{Status: "ok"})}

// getLive says that the process answers, whatever the state of its database.
func getLive() endpoint {
	return endpoint{mediaType: "application/json", answer: func(context.Context, request) (response, error) {
		return healthy, nil
	}}
}

// getReady says whether requests can be served now.
func (h *handler) getReady() endpoint {
	return endpoint{mediaType: "application/json", answer: func(ctx context.Context, _ request) (response, error) {
		if h.Ready(ctx) != nil {
			return response{}, job.Refuse(job.CodeDatabaseUnavailable)
		}
		return healthy, nil
	}}
}
