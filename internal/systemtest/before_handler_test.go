package systemtest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// TestWhatTheHTTPServerAnswersByItself holds what docs/rest.md says about requests that no handler sees: their answers are
// plain text or nothing, the connection is closed, and no part of the request comes back.
func TestWhatTheHTTPServerAnswersByItself(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), withoutWorkers)
	const mostHeaderBytes = 64 << 10
	long := strings.Repeat("canary", mostHeaderBytes/5)
	for request, status := range map[string]int{
		"GET /canary%zz HTTP/1.1\r\nHost: x\r\n\r\n":                                         http.StatusBadRequest,
		"GET / HTTP/1.1\r\nHost: x\r\nCanary canary: x\r\n\r\n":                              http.StatusBadRequest,
		"GET / HTTP/1.1\r\nHost: x\r\nA: canary\x00\r\n\r\n":                                 http.StatusBadRequest,
		"GET /canary HTTP/1.1\r\n\r\n":                                                       http.StatusBadRequest,
		"GET / HTTP/1.1\r\nHost: x\r\nHost: canary\r\n\r\n":                                  http.StatusBadRequest,
		"POST /canary HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": http.StatusBadRequest,
		"POST / HTTP/1.1\r\nHost: x\r\nExpect: canary\r\nContent-Length: 1\r\n\r\n":          http.StatusExpectationFailed,
		"GET / HTTP/1.1\r\nHost: x\r\nA: " + long + "\r\n\r\n":                               http.StatusRequestHeaderFieldsTooLarge,
		"GET /" + long + " HTTP/1.1\r\nHost: x\r\n\r\n":                                      http.StatusRequestHeaderFieldsTooLarge,
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: canary\r\n\r\n":                    http.StatusNotImplemented,
		"GET /canary HTTP/3.7\r\nHost: x\r\n\r\n":                                            http.StatusHTTPVersionNotSupported,
	} {
		response, body := converse(t, p, request)
		require.Equal(t, status, response.StatusCode, "%.80q", request)
		require.True(t, response.Close)
		if body != "" {
			require.Equal(t, "text/plain; charset=utf-8", response.Header.Get("Content-Type"))
		}
		require.NotContains(t, body, "canary")
	}
	response, body := converse(t, p, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Empty(t, body)
}

// converse sends text as it is and reads the answer.
func converse(t *testing.T, p *process, text string) (response *http.Response, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.API, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	response, err = http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(all)
}
