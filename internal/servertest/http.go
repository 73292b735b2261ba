package servertest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// Name and Password are those of the user of each server that [Serve] starts.
const (
	Name     = "ann"
	Password = "a password of ann"
)

// Answer is an answer over HTTP, read whole.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Call sends a request as the servers' user. Header fields are pairs of a name and a value.
func Call(t *testing.T, method, url, body string, header ...string) Answer {
	t.Helper()
	return CallAs(t, http.DefaultClient, Name, Password, method, url, body, header...)
}

// CallAs sends a request as somebody else, or over another client.
func CallAs(t *testing.T, client *http.Client, user, secret, method, url, body string, header ...string) Answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.SetBasicAuth(user, secret)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return Answer{response.StatusCode, response.Header, text}
}

// Submit submits a batch of one record and returns the URL of the job.
func (p *Process) Submit(t *testing.T, key string) string {
	t.Helper()
	a := Call(t, http.MethodPost, p.API+"/api/etl/jobs", `[{"id":"a"}]`, "Idempotency-Key", key)
	require.Equal(t, http.StatusAccepted, a.Status, "%s", a.Body)
	return p.API + a.Header.Get("Location")
}

// Status is the status of the job at a URL.
func Status(t *testing.T, jobURL string) string {
	t.Helper()
	a := Call(t, http.MethodGet, jobURL, "")
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	var j struct {
		JobStatus string `json:"jobStatus"`
	}
	require.NoError(t, json.Unmarshal(a.Body, &j))
	return j.JobStatus
}

// RequireSuccess waits until the job at a URL has succeeded.
func RequireSuccess(t *testing.T, jobURL string) {
	t.Helper()
	pgtest.Eventually(t, "the job to succeed", func() bool { return Status(t, jobURL) == "SUCCEEDED" })
}

// Counted is the value of one series of the process's metrics.
func (p *Process) Counted(t *testing.T, series string) string {
	t.Helper()
	for line := range strings.Lines(string(Call(t, http.MethodGet, p.Admin+"/metrics", "").Body)) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
