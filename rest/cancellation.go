package rest

import (
	"bytes"
	"context"
	"encoding/json"

	"fencepost/internal/job"
)

// cancelJob cancels a job. Its answer is the representation of the job itself, which Content-Location says.
func (h *handler) cancelJob() endpoint {
	return endpoint{
		operation: job.OperationCancel, body: optionalBody, mediaType: "application/json",
		answer: func(ctx context.Context, r request) (response, error) {
			// A missing key is the service's refusal, and comes before one for the body.
			if !r.key.Missing() && !isEmpty(r.body) {
				return response{}, job.Refuse(job.CodeInvalidJSON)
			}
			accepted, err := h.Service.Cancel(ctx, r.owner, r.id, r.key)
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

// isEmpty reports whether a body is no bytes at all or an object without members.
func isEmpty(body []byte) bool {
	if len(body) == 0 {
		return true
	}
	var compact bytes.Buffer
	return json.Compact(&compact, body) == nil && compact.String() == "{}"
}
