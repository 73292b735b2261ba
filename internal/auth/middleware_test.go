package auth

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// door serves a handler that needs an owner and says whose request it was.
func door(t *testing.T) *httptest.Server {
	t.Helper()
	f := open(t, user("ann", "sec:ret")+user("zoë", "pässwörd"), Options{})
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		owner, ok := Owner(r.Context())
		if !ok {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write(owner[:])
	})
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "refused")
	})
	server := httptest.NewServer(f.Require(next, refuse))
	t.Cleanup(server.Close)
	return server
}

func get(t *testing.T, server *httptest.Server, authorization ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	for _, line := range authorization {
		r.Header.Add("Authorization", line)
	}
	response, err := server.Client().Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response, string(body)
}

func TestAuthenticatedRequestCarriesItsOwner(t *testing.T) {
	t.Parallel()
	server := door(t)
	for line, name := range map[string]string{
		basic("ann:sec:ret"): "ann",
		"basic " + base64.StdEncoding.EncodeToString([]byte("ann:sec:ret")): "ann",
		basic("zoë:pässwörd"): "zoë",
	} {
		response, body := get(t, server, line)
		require.Equal(t, http.StatusOK, response.StatusCode)
		owner := job.OwnerOf(name)
		require.Equal(t, string(owner[:]), body)
		require.Empty(t, response.Header.Get("WWW-Authenticate"))
	}
}

func TestEveryRefusalIsOneAndTheSame(t *testing.T) {
	t.Parallel()
	server := door(t)
	for name, lines := range map[string][]string{
		"nothing":        nil,
		"scheme alone":   {"Basic"},
		"not base64":     {"Basic %%%"},
		"no colon":       {basic("ann")},
		"another scheme": {"Bearer abc"},
		"not UTF-8":      {basic("ann:\xff")},
		"NUL":            {basic("an\x00n:sec:ret")},
		"two lines":      {basic("ann:sec:ret"), basic("ann:sec:ret")},
		"wrong password": {basic("ann:wrong")},
		"unknown user":   {basic("nobody:sec:ret")},
	} {
		response, body := get(t, server, lines...)
		require.Equal(t, http.StatusUnauthorized, response.StatusCode, name)
		require.Equal(t, []string{`Basic realm="fencepost", charset="UTF-8"`}, response.Header.Values("WWW-Authenticate"))
		require.Equal(t, "refused", body)
	}
}

func TestContextWithoutAnOwnerSaysSo(t *testing.T) {
	t.Parallel()
	owner, ok := Owner(t.Context())
	require.False(t, ok)
	require.Zero(t, owner)
}
