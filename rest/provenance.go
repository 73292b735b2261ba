package rest

import (
	"context"
	"encoding/json"

	"fencepost/internal/job"
)

// getProvenance exports a lineage as W3C PROV-O in JSON-LD.
func (h *handler) getProvenance() endpoint {
	return endpoint{mediaType: "application/ld+json", answer: func(ctx context.Context, r request) (response, error) {
		lineage, err := h.Service.Lineage(ctx, r.owner, r.id)
		if err != nil {
			return response{}, err
		}
		attempts, err := h.Service.Attempts(ctx, r.owner, lineage.Exported(), job.ProvenanceAttempts)
		return represent(json.RawMessage(lineage.Provenance(attempts))), err
	}}
}
