package rest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

const jobsPath = "/api/etl/jobs"

// answer is a response that was read to its end and checked against the OpenAPI document.
type answer struct {
	t      testing.TB
	path   string // as sent, without the query
	status int
	header http.Header
	body   string
}

var client = &http.Client{
	Transport:     &http.Transport{DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// do sends a request with header fields written as "Name: value". It is alice's unless there is another Authorization; a
// field without a value is left out.
func (w *world) do(method, target, body string, fields ...string) answer {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+target, strings.NewReader(body))
	require.NoError(w, err)
	return w.send(r, fields...)
}

func (w *world) send(r *http.Request, fields ...string) answer {
	w.Helper()
	for _, field := range append([]string{basic("alice")}, fields...) {
		name, value, _ := strings.Cut(field, ":")
		if strings.EqualFold(name, "Authorization") {
			r.Header.Del(name)
		}
		if value = strings.TrimSpace(value); value != "" {
			r.Header.Add(name, value)
		}
	}
	resp, err := client.Do(r)
	require.NoError(w, err)
	return w.read(r, resp, r.URL.EscapedPath())
}

// raw sends text as it is and reads one response, for requests that a client library would not send.
func (w *world) raw(text string) answer {
	w.Helper()
	conn, err := (&net.Dialer{}).DialContext(w.Context(), "tcp", w.server.Listener.Addr().String())
	require.NoError(w, err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	require.NoError(w, err)
	method, rest, _ := strings.Cut(text, " ")
	target, _, _ := strings.Cut(rest, " ")
	path, _, _ := strings.Cut(strings.TrimPrefix(target, "http://localhost"), "?")
	r, err := http.NewRequestWithContext(w.Context(), method, w.server.URL, nil)
	require.NoError(w, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	require.NoError(w, err)
	r.URL.Path = path
	return w.read(r, resp, path)
}

// rawGet is a GET of a target that is sent as it is.
func (w *world) rawGet(target string) answer {
	w.Helper()
	return w.raw("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + basic("alice") + "\r\n\r\n")
}

func (w *world) read(r *http.Request, resp *http.Response, path string) answer {
	w.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(w, err)
	if resp.Close { // the client has taken the field out
		resp.Header.Set("Connection", "close")
	}
	a := answer{t: w.TB, path: path, status: resp.StatusCode, header: resp.Header, body: string(body)}
	require.Equal(w, "nosniff", a.header.Get("X-Content-Type-Options"))
	conform(w.TB, r, a)
	// The path is the one part of a request that comes back, as the instance of a problem.
	_, err = fmt.Fprintln(w.heard, a.status, a.header, strings.ReplaceAll(a.body, path, ""))
	require.NoError(w, err)
	return a
}

func (w *world) get(target string, fields ...string) answer {
	w.Helper()
	return w.do(http.MethodGet, target, "", fields...)
}

func (w *world) submit(body, key string, fields ...string) answer {
	w.Helper()
	return w.post(jobsPath, body, key, fields...)
}

func (w *world) replay(source, body, key string, fields ...string) answer {
	w.Helper()
	return w.post(source+"/replays", body, key, fields...)
}

func (w *world) cancel(path, key string, fields ...string) answer {
	w.Helper()
	return w.do(http.MethodPost, path+"/cancellation", "", append([]string{"Idempotency-Key: " + key}, fields...)...)
}

// cancelFor cancels a job for a reason.
func (w *world) cancelFor(path, reason, key string) answer {
	w.Helper()
	return w.post(path+"/cancellation", `{"reasonCode":`+strconv.Quote(reason)+`}`, key)
}

// post sends JSON under a key.
func (w *world) post(path, body, key string, fields ...string) answer {
	w.Helper()
	fields = append([]string{"Content-Type: application/json", "Idempotency-Key: " + key}, fields...)
	return w.do(http.MethodPost, path, body, fields...)
}

// require checks the status.
func (a answer) require(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, a.body)
	return a
}

// refused checks that the answer is exactly the problem of a code, and nothing else.
func (a answer) refused(code job.Code) answer {
	a.t.Helper()
	d := code.Define()
	a.require(d.Status)
	require.Equal(a.t, "application/problem+json", a.header.Get("Content-Type"))
	require.Equal(a.t, "no-store", a.header.Get("Cache-Control"))
	members := map[string]any{
		"type": d.Type(), "title": d.Title, "status": float64(d.Status), "detail": d.Detail,
		"instance": a.path, "errorCode": string(code),
	}
	if code == job.CodeInvalidCancellationReason {
		members["allowed"] = []any{job.CancellationByOwner, "wrong_batch", "superseded"}
	}
	told := a.members()
	if code == job.CodeInvalidRecord || code == job.CodeInvalidJSON { // where it is has tests of its own
		delete(told, "errors")
		delete(told, "offset")
	}
	require.Equal(a.t, members, told)
	return a
}

// members reads the body as a JSON object.
func (a answer) members() map[string]any {
	a.t.Helper()
	var members map[string]any
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &members), a.body)
	return members
}

// ids lists the jobs of a page.
func (a answer) ids() []string {
	a.t.Helper()
	ids := []string{}
	for _, j := range a.members()["jobs"].([]any) {
		ids = append(ids, j.(map[string]any)["jobRecordId"].(string))
	}
	return ids
}

// seconds reads a field that is a number of seconds.
func (a answer) seconds(field string) int {
	a.t.Helper()
	n, err := strconv.Atoi(a.header.Get(field))
	require.NoError(a.t, err)
	return n
}

// idIn is the job id at the end of a path.
func idIn(path string) string { return path[strings.LastIndex(path, "/")+1:] }

func quoted(key string) string { return `"` + key + `"` }
