package transport

import (
	"net/http"

	"fencepost/internal/mediatype"
)

const allowedMethods = "GET, POST, OPTIONS"

// gate refuses what is no GraphQL request before anything of it is read.
type gate struct {
	next    http.Handler
	maxBody int64
	origins *http.CrossOriginProtection
}

// Gate stands in front of a server. It takes bodies of at most so many bytes.
func Gate(next http.Handler, maxBody int64) http.Handler {
	return gate{next: next, maxBody: maxBody, origins: http.NewCrossOriginProtection()}
}

func (g gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w)
	if refused := g.check(r); refused != nil {
		offer(w)
		refused.write(w, typeJSON)
		return
	}
	if r.Method == http.MethodOptions {
		offer(w)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, g.maxBody)
	g.next.ServeHTTP(w, r)
}

// offer says what is taken.
func offer(w http.ResponseWriter) {
	w.Header().Set("Allow", allowedMethods)
	w.Header().Set("Accept-Post", typeJSON)
}

func (g gate) check(r *http.Request) *refusal {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodOptions:
		return &refusedMethod
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" || g.origins.Check(asUnsafe(r)) != nil:
		return &refusedCrossSite
	case r.Method == http.MethodPost && !jsonBody(r.Header):
		return &refusedMediaType
	case r.ContentLength > g.maxBody:
		return &refusedSize
	default:
		return nil
	}
}

// asUnsafe makes the request for a WebSocket one that must come from the server's own pages: a browser lets the pages of
// other sites open one, and read it.
func asUnsafe(r *http.Request) *http.Request {
	if !wantsWebSocket(r) {
		return r
	}
	unsafe := *r
	unsafe.Method = http.MethodPost
	return &unsafe
}

// jsonBody wants JSON without a content encoding. No form of a web page can send that type, which keeps other sites from
// sending mutations with a browser's credentials.
func jsonBody(h http.Header) bool {
	return mediatype.IsJSON(h.Values("Content-Type")) && h.Get("Content-Encoding") == ""
}
