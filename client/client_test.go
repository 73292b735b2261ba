package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/client"
)

func TestCredentialsNeedEncryptionOnTheWayToAnotherMachine(t *testing.T) {
	t.Parallel()
	credentials := client.WithCredentials(user, password)
	for _, base := range []string{"http://etl.example.com", "http://192.0.2.1:8080", "http://localhost.example.com"} {
		_, err := client.New(client.WithBaseURL(base), credentials)
		require.ErrorIs(t, err, client.ErrPlaintext, base)
		_, err = client.New(client.WithBaseURL(base), credentials, client.WithPlaintext())
		require.NoError(t, err)
		_, err = client.New(client.WithBaseURL(base))
		require.NoError(t, err, "there is nothing to read")
	}
	for _, base := range []string{"https://etl.example.com", "http://localhost:8080", "http://127.0.0.2", "http://[::1]:80"} {
		_, err := client.New(client.WithBaseURL(base), credentials)
		require.NoError(t, err, base)
	}
}

func TestBaseURLIsChecked(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"", "localhost:8080", "ftp://host", "http://", "http://%", "http://user:secret@host", "http://host?q", "http://host#f",
	} {
		_, err := client.New(client.WithBaseURL(base))
		require.ErrorContains(t, err, "the base URL must", base)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestBaseURLMayHaveAPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.before(1, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		http.StripPrefix("/behind", next).ServeHTTP(rw, r)
	})
	w.submit(w.client(client.WithBaseURL(w.server.URL + "/behind/")))
}

func TestRedirectIsNotFollowedWithCredentials(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("redirect was followed") }))
	defer elsewhere.Close()
	w := newWorld(t)
	w.before(1, func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(rw, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	_, err := w.client().Get(t.Context(), uuid.New())
	require.EqualError(t, err, "Temporary Redirect")
}
