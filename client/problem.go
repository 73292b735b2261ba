package client

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fencepost/jobtype"
)

// ErrUnreachable says that no answer came: the server is down, or the connection broke. For a write this leaves open
// whether it was done; calling again under the same key finds out.
var ErrUnreachable = errors.New("the server cannot be reached")

// Code names a refusal. The list is in package jobtype.
type Code = jobtype.Code

// Problem is a refusal by the server (RFC 9457).
type Problem struct {
	// Code says which refusal it is. It is empty when the answer came from something else, such as a proxy.
	Code Code `json:"errorCode"`
	// Status is the HTTP status (RFC 9110).
	Status int `json:"status"`
	// Title is the short summary, the same for every occurrence.
	Title string `json:"title"`
	// Detail tells what to do about it.
	Detail string `json:"detail"`
	// Allowed are the values that would have been taken, where there is a list of them.
	Allowed []string `json:"allowed"`
	// Errors are what is wrong with records of the batch, at most 20 of them, in their order.
	Errors []jobtype.RecordError `json:"errors"`
	// Offset is where in the bytes of the batch its text stops being one; nil where that is not what is wrong.
	Offset *int64 `json:"offset"`
	// RetryAfter is how long the server asks to wait before the next attempt; 0 when it does not say.
	RetryAfter time.Duration `json:"-"`
}

// findings are errors in words: "missing_id at /730/id".
func findings(errors []jobtype.RecordError) []string {
	texts := make([]string, len(errors))
	for i, e := range errors {
		texts[i] = string(e.Code) + " at " + e.Pointer
	}
	return texts
}

// Error is the problem in words, with its code in the end.
func (p *Problem) Error() string {
	text := cmp.Or(p.Title, "status "+strconv.Itoa(p.Status))
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if len(p.Allowed) > 0 {
		text += " Allowed: " + strings.Join(p.Allowed, ", ") + "."
	}
	if p.Offset != nil {
		text += fmt.Sprintf(" It stops being one at byte %d.", *p.Offset)
	}
	if len(p.Errors) > 0 {
		text += " Found: " + strings.Join(findings(p.Errors), ", ") + "."
	}
	if p.Code != "" {
		text += " (" + string(p.Code) + ")"
	}
	return text
}

// Temporary reports whether the same call, under the same key, may succeed later.
func (p *Problem) Temporary() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return p.Code.Define().RetryAfter > 0
	}
}

// newProblem reads a refusal. A body that is no problem document leaves only what its status says.
func newProblem(a answer) *Problem {
	var p Problem
	if json.Unmarshal(a.body, &p) != nil {
		p = Problem{}
	}
	p.Status = a.status
	p.Title = cmp.Or(p.Title, http.StatusText(a.status))
	p.RetryAfter = retryAfter(a.header)
	return &p
}

// retryAfter reads Retry-After (RFC 9110 section 10.2.3), in seconds or as a date; 0 when there is none.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(seconds, math.MaxInt32)) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}

// worthRetrying tells what may pass from what stays as it is: a refusal, an unknown host, a certificate that is not trusted.
func worthRetrying(err error) bool {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p.Temporary()
	}
	host, isHost := errors.AsType[*net.DNSError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	lasting := isHost && host.IsNotFound || isCertificate || errors.Is(err, http.ErrSchemeMismatch)
	return !lasting
}
