package servertest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/auth"
	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/telemetry"
)

// Patience is how long a test waits for something that normally happens at once.
const Patience = time.Minute

// Process is a running server or worker.
type Process struct {
	// API and Admin are its URLs, without a slash at the end.
	API, Admin string
	// Log is what it has logged so far, in JSON, from the level debug on.
	Log *Journal

	stop  context.CancelFunc
	ended chan error
}

// Journal is what a running process writes, to be read meanwhile.
type Journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (j *Journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(text)
}

// String is what was written so far.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Serve starts a server on a database, with free ports and one user. The changes are made to the program's defaults.
func Serve(t *testing.T, url string, changes ...func(*server.Config)) *Process {
	t.Helper()
	log := &Journal{}
	c := server.Defaults()
	c.Database.URL, c.Database.ListenURL = url, pgtest.Direct(url)
	c.Site.UsersFile = UsersFile(t, Name, Password)
	c.Public.Address, c.Admin.Address = freePort, freePort
	c.Runtime = runtime(log)
	for _, change := range changes {
		change(&c)
	}
	p, err := server.OpenServer(t.Context(), c)
	require.NoError(t, err)
	return run(t, p, log)
}

// Work starts a worker on a database, with a free port. The changes are made to the program's defaults.
func Work(t *testing.T, url string, changes ...func(*server.WorkerConfig)) *Process {
	t.Helper()
	log := &Journal{}
	c := server.WorkerDefaults()
	c.Database.URL, c.Database.ListenURL = url, pgtest.Direct(url)
	c.Admin.Address = freePort
	c.Runtime = runtime(log)
	for _, change := range changes {
		change(&c)
	}
	p, err := server.OpenWorker(t.Context(), c)
	require.NoError(t, err)
	return run(t, p, log)
}

const freePort = "127.0.0.1:0"

func runtime(log io.Writer) server.Runtime {
	return server.Runtime{Version: "test", Log: telemetry.NewLogger(log, "json", "debug"), LookupEnv: os.LookupEnv}
}

func run(t *testing.T, opened *server.Process, log *Journal) *Process {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	p := &Process{
		API: opened.Welcome.PublicURL, Admin: opened.Welcome.AdminURL,
		Log: log, stop: stop, ended: make(chan error, 1),
	}
	go func() {
		err := opened.Run(ctx)
		if closing := opened.Close(); err == nil {
			err = closing
		}
		p.ended <- err
	}()
	t.Cleanup(func() { _ = p.End() })
	return p
}

// Stop tells the process to stop, and returns at once.
func (p *Process) Stop() { p.stop() }

// End stops the process and returns how it ended.
func (p *Process) End() error {
	p.stop()
	err := <-p.ended
	p.ended <- err
	return err
}

// WithoutWorkers lets a server run no jobs.
func WithoutWorkers(c *server.Config) { c.Worker.Workers = 0 }

// Loading lets a server load the records by the statement in a file.
func Loading(file string) func(*server.Config) {
	return func(c *server.Config) { c.Database.LoadSQLFile = file }
}

// UsersFile makes a users file with one user.
func UsersFile(t *testing.T, name, password string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users")
	require.NoError(t, auth.Add(path, name, password))
	return path
}

// File makes a file in a folder of its own.
func File(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), mode))
	return path
}

// Announcement is what "serve" or "work" prints until it is ready, and the URLs in it.
type Announcement struct{ Text, API, Admin string }

// ReadAnnouncement reads the standard output of "serve" or "work" until it is ready, and throws the rest away. The error is
// that of an output that ends before.
func ReadAnnouncement(stdout io.Reader) (a Announcement, err error) {
	lines := bufio.NewReader(stdout)
	for !strings.Contains(a.Text, "Ctrl-C") && !strings.Contains(a.Text, "runs jobs") {
		line, err := lines.ReadString('\n')
		if err != nil {
			return a, err
		}
		a.Text += line
		if _, after, found := strings.Cut(line, "REST      "); found {
			a.API, _, _ = strings.Cut(after, "/api/")
		}
		if i := strings.Index(line, "http"); i > 0 && strings.HasSuffix(line, "/metrics\n") {
			a.Admin = strings.TrimSuffix(line[i:], "/metrics\n")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return a, nil
}
