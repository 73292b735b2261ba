// Package webui serves the pages for people:
//
//	/playground             GraphiQL, to try the GraphQL API in
//	/lineage                a search box, and the latest jobs
//	/lineage/{jobRecordId}  the lineage of a job as a picture, live while jobs are active
//
// The pages hold no data of their own. Their scripts ask /graphql for everything they show, as any client may, and the browser
// adds the credentials that the page was opened with.
//
// The folder lineage is served as it is. The folder playground is built into playground/dist by "make web", which needs Node;
// the result is committed, so that building the server does not.
package webui

import (
	"net/http"
	"strings"
)

// Routes are the patterns of the paths that requests are counted by.
var Routes = []string{
	"/playground",
	"/playground/assets/{file}",
	"/lineage",
	"/lineage/{jobRecordId}",
	"/lineage/assets/{file}",
}

// Serves reports whether a path, as it was sent, belongs to the pages.
func Serves(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "playground" || first == "lineage"
}

// New makes the handler of the paths that [Serves] names. Only authenticated requests may reach it.
func New() http.Handler { return newSite() }

// Unauthenticated answers a request for a page without valid credentials with 401.
var Unauthenticated http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	refuse(w, http.StatusUnauthorized)
})

// ServeHTTP compares the path as it was sent: one that is not exactly a page's is not found, and nothing redirects.
func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, found := s.find(r.URL.EscapedPath())
	switch {
	case !found:
		refuse(w, http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed)
	default:
		f.serve(w, r)
	}
}

// refuse says no more than the status does.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	http.Error(w, http.StatusText(status), status) // also sets nosniff
}
