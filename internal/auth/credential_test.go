package auth

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

func TestCredentialIsReadFromOneBasicLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]credential{
		basic("ann:secret"):                         {"ann", "secret"},
		"bAsIc" + basic("ann:secret")[5:]:           {"ann", "secret"},
		basic("ann:se:cr:et"):                       {"ann", "se:cr:et"},
		basic("ann:"):                               {"ann", ""},
		basic("zoë:pässwörd"):                       {"zoë", "pässwörd"},
		basic("ann:" + strings.Repeat("p", 72)):     {"ann", strings.Repeat("p", 72)},
		basic(strings.Repeat("n", 255) + ":secret"): {strings.Repeat("n", 255), "secret"},
	} {
		r := &http.Request{Header: http.Header{"Authorization": {line}}}
		got, ok := credentialOf(r)
		require.True(t, ok, line)
		require.Equal(t, want, got)
	}
}

func TestMalformedCredentialIsRefused(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"no line":             nil,
		"two lines":           {basic("ann:secret"), basic("ann:secret")},
		"empty":               {""},
		"scheme alone":        {"Basic"},
		"not base64":          {"Basic %%%"},
		"another scheme":      {"Bearer " + basic("ann:secret")[6:]},
		"no colon":            {basic("ann")},
		"no name":             {basic(":secret")},
		"NUL in the name":     {basic("an\x00n:secret")},
		"NUL in the password": {basic("ann:sec\x00ret")},
		"line feed":           {basic("ann:sec\nret")},
		"delete":              {basic("ann:sec\x7fret")},
		"not UTF-8":           {basic("ann:\xff")},
		"long name":           {basic(strings.Repeat("n", 256) + ":secret")},
		"long password":       {basic("ann:" + strings.Repeat("p", 73))},
		"long line":           {basic("ann:" + strings.Repeat("p", 10_000))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ok := credentialOf(&http.Request{Header: http.Header{"Authorization": lines}})
			require.False(t, ok)
		})
	}
}

// Whatever the line says, a credential that comes out of it is one that could have been put in.
func FuzzCredential(f *testing.F) {
	for _, line := range []string{"", "Basic", "Basic %%%", "Bearer abc", basic("ann:secret"), basic("ann"), basic(":\x00")} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, ok := credentialOf(&http.Request{Header: http.Header{"Authorization": {line}}})
		if !ok {
			return
		}
		require.True(t, validName(got.name))
		require.True(t, printable(got.password))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth(got.name, got.password)
		again, ok := credentialOf(r)
		require.True(t, ok)
		require.Equal(t, got, again)
	})
}
