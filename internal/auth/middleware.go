package auth

import (
	"context"
	"net/http"

	"fencepost/internal/job"
)

// challenge asks for Basic credentials in UTF-8 (RFC 7617, section 2.1).
const challenge = `Basic realm="fencepost", charset="UTF-8"`

// Require lets authenticated requests through to next, with their owner in the context. For all others it sets
// WWW-Authenticate and calls refuse, which writes the 401 in its own form.
func (a *Authenticator) Require(next, refuse http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		owner, ok := a.Authenticate(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", challenge)
			refuse.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r.WithContext(WithOwner(r.Context(), owner)))
	})
}

type ownerKey struct{}

// WithOwner returns a context that carries the owner of a request.
func WithOwner(ctx context.Context, owner job.Owner) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// Owner returns the owner that [WithOwner] put into a context, and false when there is none.
func Owner(ctx context.Context) (job.Owner, bool) {
	owner, ok := ctx.Value(ownerKey{}).(job.Owner)
	return owner, ok
}
