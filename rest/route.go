package rest

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"fencepost/internal/job"
	"fencepost/internal/mediatype"
)

const (
	protectedPrefix = "/api/"
	jobsPath        = "/api/etl/jobs"
	jobPath         = jobsPath + "/{id}"
)

// Routes are the templates of the paths that the facade serves, by which requests are counted. Every other path is not found.
func Routes() []string {
	return slices.Sorted(maps.Keys((&handler{}).routes()))
}

// routes lists every resource by the template of its path.
func (h *handler) routes() map[string]resource {
	return map[string]resource{
		jobsPath:                  {http.MethodGet: h.listJobs(), http.MethodPost: h.submitJob()},
		jobPath:                   {http.MethodGet: h.getJob()},
		jobPath + "/cancellation": {http.MethodPost: h.cancelJob()},
		jobPath + "/replays":      {http.MethodPost: h.replayJob()},
		jobPath + "/attempts":     {http.MethodGet: h.listAttempts()},
		jobPath + "/lineage":      {http.MethodGet: h.getLineage()},
		jobPath + "/provenance":   {http.MethodGet: h.getProvenance()},
		"/openapi.yaml":           {http.MethodGet: getDocument("application/yaml", openapiYAML)},
		"/openapi.json":           {http.MethodGet: getDocument("application/json", openapiJSON())},
		"/livez":                  {http.MethodGet: getLive()},
		"/readyz":                 {http.MethodGet: h.getReady()},
	}
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
	if t[http.MethodPost].body != noBody {
		header["Accept-Post"] = mediatype.JSON
	}
	return response{status: http.StatusNoContent, header: header}
}
