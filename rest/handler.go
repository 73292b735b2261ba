package rest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
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
	h := &handler{Config: c, resources: map[string]resource{}}
	h.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	h.Log = cmp.Or(c.Log, slog.Default())
	h.authenticated = c.Authenticator.Require(http.HandlerFunc(h.serve), http.HandlerFunc(h.refuseCredentials))
	h.route(jobsPath, resource{http.MethodGet: h.listJobs(), http.MethodPost: h.submitJob()})
	h.route(jobPath, resource{http.MethodGet: h.getJob()})
	h.route(jobPath+"/cancellation", resource{http.MethodPost: h.cancelJob()})
	h.route(jobPath+"/replays", resource{http.MethodPost: h.replayJob()})
	h.route(jobPath+"/lineage", resource{http.MethodGet: h.getLineage()})
	h.route(jobPath+"/provenance", resource{http.MethodGet: h.getProvenance()})
	h.route("/openapi.yaml", resource{http.MethodGet: getDocument("application/yaml", openapiYAML)})
	h.route("/openapi.json", resource{http.MethodGet: getDocument("application/json", openapiJSON())})
	h.route("/livez", resource{http.MethodGet: getLive()})
	h.route("/readyz", resource{http.MethodGet: h.getReady()})
	return h
}

type handler struct {
	Config
	resources     map[string]resource // by path template
	authenticated http.Handler
}

// resource is what the methods of one path do. HEAD and OPTIONS come with the others.
type resource map[string]endpoint

// endpoint is one method of a resource.
type endpoint struct {
	operation job.Operation // what the rate limit counts it as; empty for a read
	body      bodyRule
	mediaType string // of the representation it answers with
	answer    func(context.Context, request) (response, error)
}

// request is what is left of a request when it has passed the checks.
type request struct {
	owner job.Owner
	id    string // as it stands in the path, well-formed or not
	query string // raw
	key   job.Key
	body  []byte
}

const (
	protectedPrefix = "/api/"
	jobsPath        = "/api/etl/jobs"
	jobPath         = jobsPath + "/{id}"
)

func (h *handler) route(template string, r resource) { h.resources[template] = r }

// find returns the resource of a path, and the job id in the path.
func (h *handler) find(path string) (r resource, id string, found bool) {
	template, id := split(path)
	r, found = h.resources[template]
	return r, id, found
}

// split takes the job id out of a path, if the path has one, and leaves the template of its resource. An escaped path
// cannot hold braces, so no request can spell a template itself.
func split(path string) (template, id string) {
	rest, _ := strings.CutPrefix(path, jobsPath+"/")
	id, _, _ = strings.Cut(rest, "/")
	if rest == path || id == "" {
		return path, ""
	}
	return jobPath + rest[len(id):], id
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

// methodOf takes HEAD as GET: the server leaves the body out by itself (RFC 9110 section 9.3.2).
func methodOf(r *http.Request) string {
	if r.Method == http.MethodHead {
		return http.MethodGet
	}
	return r.Method
}

// allow lists the methods of a resource for the Allow field (RFC 9110 section 10.2.1).
func (t resource) allow() string {
	var methods []string
	if _, ok := t[http.MethodGet]; ok {
		methods = append(methods, http.MethodGet, http.MethodHead)
	}
	if _, ok := t[http.MethodPost]; ok {
		methods = append(methods, http.MethodPost)
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}

// options tells the methods of a resource, and what it takes by POST.
func (t resource) options() response {
	header := map[string]string{"Allow": t.allow()}
	if slices.Contains([]bodyRule{optionalBody, requiredBody}, t[http.MethodPost].body) {
		header["Accept-Post"] = acceptedBody
	}
	return response{status: http.StatusNoContent, header: header}
}
