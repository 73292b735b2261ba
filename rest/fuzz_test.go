package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRequests sends whatever HTTP can carry. No request is the server's fault, and every answer is in the document.
func FuzzRequests(f *testing.F) {
	w := newWorld(f)
	path := w.cancelled()
	for _, target := range []string{jobsPath, jobsPath + "?limit=1&status=FAILED", path, path + "/lineage", path + "/provenance", "/x[y]", jobsPath + "/%2F"} {
		f.Add(http.MethodGet, target, "*/*", "", `"x"`, "")
	}
	f.Add(http.MethodPost, jobsPath, "application/json", "application/json", `"a key"`, batch)
	f.Add(http.MethodPost, path+"/cancellation", "", "", "key", "")
	f.Add(http.MethodPost, path+"/replays", "", "application/json", "key", batch)
	f.Add("PATCH", path, "a/b;q=0", "text/plain; charset=x", `"`, "[")

	f.Fuzz(func(t *testing.T, method, target, accept, contentType, field, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, w.server.URL+target, strings.NewReader(body))
		if err != nil || r.URL.Host != w.server.Listener.Addr().String() {
			return // not a request to this server
		}
		for name, value := range map[string]string{
			"Accept": accept, "Content-Type": contentType, "Idempotency-Key": field, "If-None-Match": field,
		} {
			r.Header.Set(name, value)
		}
		r.SetBasicAuth("alice"+canary, password)
		resp, err := client.Do(r)
		if err != nil {
			return // the client does not send it
		}
		w := *w
		w.TB = t
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") { // or net/http answered by itself
			require.Less(t, w.read(r, resp, r.URL.EscapedPath()).status, http.StatusInternalServerError)
		}
	})
}
