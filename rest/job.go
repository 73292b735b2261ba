package rest

import "context"

// getJob is the resource that a client polls. While the job is active, Retry-After tells how long to wait.
func (h *handler) getJob() endpoint {
	return endpoint{mediaType: "application/json", answer: func(ctx context.Context, r request) (response, error) {
		j, err := h.Service.Get(ctx, r.owner, r.id)
		if err != nil {
			return response{}, err
		}
		resp := represent(newStatus(&j))
		if !j.Status.Terminal() {
			resp.header["Retry-After"] = seconds(h.RetryAfter)
		}
		return resp, nil
	}}
}
