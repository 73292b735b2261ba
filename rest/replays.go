package rest

import (
	"context"

	"fencepost/internal/job"
)

// replayJob makes a new job from a failed or cancelled one, given its bytes again.
func (h *handler) replayJob() endpoint {
	return endpoint{
		operation: job.OperationReplay, body: requiredBody, mediaType: "application/json",
		answer: func(ctx context.Context, r request) (response, error) {
			accepted, err := h.Service.Replay(ctx, r.owner, r.id, r.key, r.body)
			return created(accepted), err
		},
	}
}
