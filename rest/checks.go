package rest

import (
	"net/http"

	"fencepost/internal/auth"
	"fencepost/internal/job"
)

// answer leads an authenticated request through the checks in the contract's order and then to its endpoint. Header
// fields that belong to a refusal are set where the refusal is found.
func (h *handler) answer(w http.ResponseWriter, r *http.Request) (response, error) {
	owner, _ := auth.Owner(r.Context())
	target, id, found := h.find(r.URL.EscapedPath())
	if !found {
		return response{}, job.Refuse(job.CodeRouteNotFound)
	}
	e, known := target[methodOf(r)]
	if err := h.limit(w, owner, e.operation); err != nil {
		return response{}, err
	}
	if r.Method == http.MethodOptions {
		return target.options(), nil
	}
	if !known {
		w.Header().Set("Allow", target.allow())
		return response{}, job.Refuse(job.CodeMethodNotAllowed)
	}
	body, key, err := h.receive(w, r, e)
	if err != nil {
		return response{}, err
	}
	resp, err := e.answer(r.Context(), request{owner: owner, id: id, query: r.URL.RawQuery, key: key, body: body})
	resp.mediaType = e.mediaType
	return resp, err
}

// receive checks and reads what the request brings: Accept, Content-Type, size and key.
func (h *handler) receive(w http.ResponseWriter, r *http.Request, e endpoint) ([]byte, job.Key, error) {
	w.Header().Set("Vary", "Accept")
	if !accepts(r.Header, e.mediaType) {
		return nil, job.Key{}, job.Refuse(job.CodeNotAcceptable)
	}
	if e.body == noBody {
		return nil, job.Key{}, nil
	}
	body, err := readBody(w, r, e.body, h.Service.Limits().MaxPayloadBytes)
	if err != nil {
		return nil, job.Key{}, err
	}
	key, err := idempotencyKey(r.Header)
	return body, key, err
}

// limit counts a write of the owner.
func (h *handler) limit(w http.ResponseWriter, owner job.Owner, op job.Operation) error {
	if op == "" {
		return nil
	}
	wait, ok := h.Limiter.Allow(owner, op)
	if !ok {
		w.Header().Set("Retry-After", seconds(wait))
		return job.Refuse(job.CodeRateLimited)
	}
	return nil
}
