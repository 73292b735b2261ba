package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"fencepost/internal/job"
	"fencepost/internal/mediatype"
	"fencepost/jobtype"
)

// problem is a refusal as RFC 9457 writes it. All of its texts are fixed; only instance comes from the request, and
// allowed from the operator. Of a batch, it has positions alone.
type problem struct {
	Type      string                `json:"type"`
	Title     string                `json:"title"`
	Status    int                   `json:"status"`
	Detail    string                `json:"detail"`
	Instance  string                `json:"instance"`
	ErrorCode job.Code              `json:"errorCode"`
	Allowed   []string              `json:"allowed,omitempty"`
	Errors    []jobtype.RecordError `json:"errors,omitempty"`
	Offset    *int64                `json:"offset,omitempty"`
}

// refuse answers with the problem that an error is. It is the only place where one is written.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := codeOf(err)
	if code == job.CodeInternalError {
		h.Log.ErrorContext(r.Context(), "request failed", "code", string(code), "cause", causeOf(err))
	}
	if h.OnProblem != nil {
		h.OnProblem(r.Context(), code)
	}
	d, more := code.Define(), extension(err)
	setProblemHeader(w.Header(), d)
	writeBody(w, d.Status, "application/problem+json", encode(problem{
		Type:      d.Type(),
		Title:     d.Title,
		Status:    d.Status,
		Detail:    d.Detail,
		Instance:  instance(r),
		ErrorCode: code,
		Allowed:   more.Allowed,
		Errors:    more.Errors,
		Offset:    more.Offset,
	}))
}

// setProblemHeader sets the header fields that a problem always carries. Those that depend on the request (Allow,
// WWW-Authenticate, the Retry-After of a rate limit) are set where the refusal is found.
func setProblemHeader(header http.Header, d job.Definition) {
	if d.RetryAfter > 0 && header.Get("Retry-After") == "" {
		header.Set("Retry-After", strconv.Itoa(int(d.RetryAfter.Seconds())))
	}
	if d.Code == job.CodeUnsupportedMediaType {
		header.Set("Accept-Post", mediatype.JSON)
	}
}

// refuseCredentials answers a request that has no valid credential.
func (h *handler) refuseCredentials(w http.ResponseWriter, r *http.Request) {
	h.refuse(w, r, job.Refuse(job.CodeAuthenticationRequired))
}

// recoverPanic turns a panic into a problem. Answers are written in one go at the very end, so none has begun.
func (h *handler) recoverPanic(w http.ResponseWriter, r *http.Request) {
	if recover() != nil {
		h.refuse(w, r, panicError{at: panicOrigin()})
	}
}

// codeOf names an error. One that is neither a refusal nor the end of the request's time is a fault of the server.
func codeOf(err error) job.Code {
	var refusal *job.Problem
	switch {
	case errors.As(err, &refusal):
		return refusal.Code
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return job.CodeDatabaseUnavailable
	default:
		return job.CodeInternalError
	}
}

// extension is the refusal that an error is, with what it tells besides its code, or an empty one.
func extension(err error) job.Problem {
	if refusal, ok := errors.AsType[*job.Problem](err); ok {
		return *refusal
	}
	return job.Problem{}
}

// causeOf is the place of a panic or the Go type of the innermost error: enough to look for a fault, and never what an
// error's text may hold.
func causeOf(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	if p, ok := err.(panicError); ok { //nolint:errorlint // there is nothing left to unwrap
		return p.Error()
	}
	return fmt.Sprintf("%T", err)
}

// uriBrackets are the two characters that Go leaves in an escaped path although RFC 3986 does not allow them there.
var uriBrackets = strings.NewReplacer("[", "%5B", "]", "%5D")

// instance is the path of the request as a URI reference (RFC 3986). A leading double slash would read as a host, so a
// dot segment goes before it.
func instance(r *http.Request) string {
	path := uriBrackets.Replace(r.URL.EscapedPath())
	if strings.HasPrefix(path, "//") {
		return "/." + path
	}
	return path
}
