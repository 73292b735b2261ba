package rest

import (
	"context"
	"encoding/json"
)

// getProvenance exports a lineage as W3C PROV-O in JSON-LD.
func (h *handler) getProvenance() endpoint {
	return endpoint{mediaType: "application/ld+json", answer: func(ctx context.Context, r request) (response, error) {
		lineage, err := h.Service.Lineage(ctx, r.owner, r.id)
		if err != nil {
			return response{}, err
		}
		return represent(json.RawMessage(lineage.Provenance())), nil
	}}
}
