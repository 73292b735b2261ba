package rest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"fencepost/internal/auth"
	"fencepost/internal/job"
)

// defaultTimeout is the deadline of a request when the configuration names none.
const defaultTimeout = 30 * time.Second

// Limiter bounds how often an owner may write.
type Limiter interface {
	// Allow counts one write. When it is one too many, ok is false and retryAfter tells how long to wait.
	Allow(owner job.Owner, op job.Operation) (retryAfter time.Duration, ok bool)
}

// Config is what the facade needs to work.
type Config struct {
	// Service does the work, and knows the size limits.
	Service *job.Service
	// Authenticator finds the owner of each request under /api/.
	Authenticator *auth.Authenticator
	// Limiter bounds the writes of each owner.
	Limiter Limiter
	// Ready reports whether the database can be used; /readyz asks it.
	Ready func(context.Context) error
	// RetryAfter is the workers' polling delay: how long a client should wait before it looks at an active job again.
	RetryAfter time.Duration
	// Timeout is the deadline of one request; 0 means 30 seconds.
	Timeout time.Duration
	// Log receives unexpected errors, as codes only; nil means the default logger.
	Log *slog.Logger
	// OnProblem hears of each problem that is answered, for metrics; nil means that nobody does.
	OnProblem func(context.Context, job.Code)
}

// New returns the handler of all REST routes. It also answers every path it does not know, so it is the fallback of
// the server that it is part of.
func New(c Config) http.Handler {
	h := &handler{Config: c}
	h.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	h.Log = cmp.Or(c.Log, slog.Default())
	h.resources = h.routes()
	h.authenticated = c.Authenticator.Require(http.HandlerFunc(h.serve), http.HandlerFunc(h.refuseCredentials))
	return h
}

type handler struct {
	Config
	resources     map[string]resource // by path template
	authenticated http.Handler
}

// ServeHTTP answers a request within its deadline, whatever happens.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	r = r.WithContext(ctx)
	defer h.recoverPanic(w, r)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if strings.HasPrefix(r.URL.EscapedPath(), protectedPrefix) {
		h.authenticated.ServeHTTP(w, r)
		return
	}
	h.serve(w, r)
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	resp, err := h.answer(w, r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	resp.write(w, r)
}
