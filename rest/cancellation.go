package rest

import (
	"context"

	"github.com/go-json-experiment/json"

	"fencepost/internal/job"
)

// cancelJob cancels a job. Its answer is the representation of the job itself, which Content-Location says.
func (h *handler) cancelJob() endpoint {
	return endpoint{
		operation: job.OperationCancel, body: optionalBody, mediaType: "application/json",
		answer: func(ctx context.Context, r request) (response, error) {
			reason, err := readReason(r.body)
			if err != nil && !r.key.Missing() { // which is the service's refusal, and comes first
				return response{}, err
			}
			accepted, err := h.Service.Cancel(ctx, r.owner, r.id, r.key, reason)
			if err != nil {
				return response{}, err
			}
			resp := represent(newStatus(&accepted.Job))
			resp.header = replayed(accepted)
			resp.header["Content-Location"] = statusURL(accepted.Job)
			return resp, nil
		},
	}
}

// readReason reads the body of a cancellation: nothing at all, or an object that may have one member, the text reasonCode.
func readReason(body []byte) (reason string, err error) {
	if len(body) == 0 {
		return "", nil
	}
	var members map[string]string // in which null is an empty text
	if json.Unmarshal(body, &members) != nil || members == nil {
		return "", job.Refuse(job.CodeInvalidJSON)
	}
	reason = members["reasonCode"]
	delete(members, "reasonCode")
	if len(members) > 0 {
		return "", job.Refuse(job.CodeInvalidJSON)
	}
	return reason, nil
}
