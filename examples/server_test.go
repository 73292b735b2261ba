package examples_test

import (
	"bufio"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// server is a running server as its start message describes it.
type server struct{ url, dataDir, password string }

// starting is held while a server starts, since each start builds the program.
var starting sync.Mutex

// serve runs a document's command, with a free port and a data directory of its own, until the test ends.
func serve(t *testing.T, command string) server {
	t.Helper()
	starting.Lock()
	defer starting.Unlock()
	lookAtSources(t)
	dataDir := temporaryDirectory(t)
	process := exec.Command("bash", "-c", command)
	process.Dir = repository
	process.Env = append(os.Environ(),
		"FENCEPOST_DATA_DIR="+dataDir,
		"FENCEPOST_LISTEN=127.0.0.1:0",
		"FENCEPOST_ADMIN_LISTEN=127.0.0.1:0",
		"FENCEPOST_POSTGRES_BIN="+os.Getenv("FENCEPOST_TEST_POSTGRES_BIN"),
		"FENCEPOST_DATABASE_URL=", "FENCEPOST_USERS_FILE=",
		"MAKEFLAGS=", // of the make that runs the tests
	)
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that one signal reaches make and the server
	log, err := os.Create(filepath.Join(dataDir, "stderr"))
	require.NoError(t, err)
	process.Stderr = log
	stdout, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-process.Process.Pid, syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, stdout) // until the server has ended
		_ = process.Wait()                 // make reports the signal as a failure
		_ = log.Close()
	})
	return readAnnouncement(t, stdout, log.Name())
}

var announcement = regexp.MustCompile(`(?s)REST +(http://[^/]+)/.*Data +(\S+)\n.*password (\S+) `)

// readAnnouncement waits for the start message.
func readAnnouncement(t *testing.T, stdout io.Reader, log string) server {
	t.Helper()
	var text string
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		text += lines.Text() + "\n"
		if found := announcement.FindStringSubmatch(text); found != nil {
			return server{url: found[1], dataDir: found[2], password: found[3]}
		}
	}
	stderr, err := os.ReadFile(log)
	require.NoError(t, err)
	require.FailNow(t, "the server did not start", "%s%s", text, stderr)
	return server{}
}

// temporaryDirectory is one that another user, who runs PostgreSQL when root tests, can enter. Its path is short enough for
// a socket.
func temporaryDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fencepost-example-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	return dir
}

// lookAtSources keeps the go command from taking a result of this test from its cache after the program has changed. It
// notices the directories that a test opens, and would miss these, since make builds the program.
func lookAtSources(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"cmd", "graph", "internal", "migrations", "rest"} {
		err := filepath.WalkDir(filepath.Join(repository, dir), func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			return err
		})
		require.NoError(t, err)
	}
}
