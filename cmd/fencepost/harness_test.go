package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/auth"
	"fencepost/internal/pgtest"
)

// runMain makes the test binary the program itself, for tests that send signals to it.
const runMain = "FENCEPOST_TEST_RUN_MAIN"

// patience is how long a test waits for something that normally happens at once.
const patience = time.Minute

const (
	name     = "ann"
	password = "a password of ann"
)

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
	}
	pgtest.Main(m)
}

// env is the environment of a command under test; nothing of the real one is visible to it.
type env map[string]string

func (e env) lookup(name string) (string, bool) {
	value, set := e[name]
	return value, set
}

type outcome struct {
	code           int
	stdout, stderr string
}

// invoke runs one command line to its end.
func invoke(t *testing.T, e env, stdin io.Reader, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), shell{stdin, &stdout, &stderr, e.lookup}, args)
	return outcome{code, stdout.String(), stderr.String()}
}

// refused runs a command line that must fail, and returns its message.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	o := invoke(t, nil, nil, args...)
	require.Equal(t, 1, o.code, "%v", args)
	require.Contains(t, o.stderr, "fencepost: ")
	return o.stderr
}

// process is a command that runs until it is stopped.
type process struct {
	api, admin string
	// announced is what it printed until it was ready.
	announced string
	// said is its log so far.
	said  *journal
	stop  context.CancelFunc
	ended chan outcome
}

// journal is what a running command writes, to be read meanwhile.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(text)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// start runs a command and returns when it has printed the line that it is ready by.
func start(t *testing.T, e env, ready string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stdout, printed := io.Pipe()
	p := &process{said: &journal{}, stop: cancel, ended: make(chan outcome, 1)}
	go func() {
		code := run(ctx, shell{nil, printed, p.said, e.lookup}, args)
		printed.CloseWithError(io.EOF)
		p.ended <- outcome{code: code, stderr: p.said.String()}
	}()
	p.readAnnouncement(t, stdout, ready)
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	t.Cleanup(func() { p.end() })
	return p
}

func (p *process) readAnnouncement(t *testing.T, stdout io.Reader, ready string) {
	t.Helper()
	lines := bufio.NewReader(stdout)
	for !strings.Contains(p.announced, ready) {
		line, err := lines.ReadString('\n')
		if err != nil {
			require.NoError(t, err, "%+v", p.end())
		}
		p.announced += line
		if _, after, found := strings.Cut(line, "REST      "); found {
			p.api, _, _ = strings.Cut(after, "/api/")
		}
		if i := strings.Index(line, "http"); i > 0 && strings.HasSuffix(line, "/metrics\n") {
			p.admin = strings.TrimSuffix(line[i:], "/metrics\n")
		}
	}
}

// end stops the command and returns how it ended.
func (p *process) end() outcome {
	p.stop()
	o := <-p.ended
	p.ended <- o
	return o
}

const (
	serveIsReady = "Ctrl-C"
	workIsReady  = "runs jobs"
)

// serve starts a server on a database, with free ports and one user.
func serve(t *testing.T, url string, args ...string) *process {
	t.Helper()
	common := []string{
		"serve", "--database-url", url, "--listen-url", pgtest.Direct(url), "--users-file", usersFile(t),
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
	}
	return start(t, nil, serveIsReady, append(common, args...)...)
}

func usersFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users")
	require.NoError(t, auth.Add(path, name, password))
	return path
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request as the test's user.
func call(t *testing.T, method, url, body string, header ...string) answer {
	t.Helper()
	return callAs(t, http.DefaultClient, name, password, method, url, body, header...)
}

func callAs(t *testing.T, client *http.Client, user, secret, method, url, body string, header ...string) answer {
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
	return answer{response.StatusCode, response.Header, text}
}

// submit submits a batch of one record and returns the URL of the job.
func (p *process) submit(t *testing.T, key string) string {
	t.Helper()
	a := call(t, http.MethodPost, p.api+"/api/etl/jobs", `[{"id":"a"}]`, "Idempotency-Key", key)
	require.Equal(t, http.StatusAccepted, a.status, "%s", a.body)
	return p.api + a.header.Get("Location")
}

func status(t *testing.T, jobURL string) string {
	t.Helper()
	a := call(t, http.MethodGet, jobURL, "")
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	var j struct {
		JobStatus string `json:"jobStatus"`
	}
	require.NoError(t, json.Unmarshal(a.body, &j))
	return j.JobStatus
}

func requireSuccess(t *testing.T, jobURL string) {
	t.Helper()
	require.Eventually(t, func() bool { return status(t, jobURL) == "SUCCEEDED" }, patience, 20*time.Millisecond)
}

// counted is the value of one series of a process's metrics.
func (p *process) counted(t *testing.T, series string) string {
	t.Helper()
	for line := range strings.Lines(string(call(t, http.MethodGet, p.admin+"/metrics", "").body)) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
