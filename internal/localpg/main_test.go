package localpg

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// helperDataDir makes the test binary a program that serves this data directory until its standard input ends.
const helperDataDir = "LOCALPG_HELPER_DATA_DIR"

// patience is how long a test waits for a condition that normally comes true at once.
const patience = time.Minute

func TestMain(m *testing.M) {
	if dataDir := os.Getenv(helperDataDir); dataDir != "" {
		os.Exit(serveUntilInputEnds(dataDir))
	}
	os.Exit(m.Run())
}

func serveUntilInputEnds(dataDir string) int {
	binDir, err := Find(os.Getenv("FENCEPOST_TEST_POSTGRES_BIN"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, err := Start(context.Background(), Config{DataDir: dataDir, BinDir: binDir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(); err != nil {
		return 1
	}
	return 0
}

// helper is another process that owns a server.
type helper struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
}

// startHelper runs a copy of the test binary, since another user may not reach the original.
func startHelper(t *testing.T, dataDir string, a account) *helper {
	t.Helper()
	dir := reachableDir(t)
	program := filepath.Join(dir, "helper")
	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	writeProgram(t, program, binary)

	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), helperDataDir+"="+dataDir, "GOCOVERDIR="+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	url, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return &helper{cmd: cmd, stdin: stdin, url: strings.TrimSpace(url)}
}

// reachableDir is a temporary directory that every user can enter and write; t.TempDir is closed to others.
func reachableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "localpg-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

// ordinaryUser is nobody for root, and the current user for everybody else.
func ordinaryUser(t *testing.T) account {
	t.Helper()
	if os.Geteuid() != 0 {
		return currentUser()
	}
	nobody, err := firstAccount("nobody")
	require.NoError(t, err)
	return nobody
}

func testBinDir(t *testing.T) string {
	t.Helper()
	dir, err := Find(os.Getenv("FENCEPOST_TEST_POSTGRES_BIN"))
	require.NoError(t, err)
	return dir
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.BinDir = testBinDir(t)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Settings == nil {
		cfg.Settings = []string{"fsync=off"} // faster; what a default server does is tested on its own
	}
	s, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

// execute runs statements that return nothing.
func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// query returns the single value that sql selects.
func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&value))
	return value
}

func waitClosed(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("PostgreSQL did not end")
	}
}

// writeProgram makes a file that can be executed at once: no other test may start a process meanwhile, which would have the file open
// for writing until it has become another program, and whoever executes such a file is told "text file busy".
func writeProgram(t *testing.T, path string, text []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, text, 0o755))
}

// fakePrograms makes a directory with shell scripts in place of PostgreSQL's programs.
func fakePrograms(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := reachableDir(t)
	for name, script := range scripts {
		writeProgram(t, filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"))
	}
	return dir
}

func version(program string, number string) string {
	return `[ "$1" = --version ] && echo "` + program + ` (PostgreSQL) ` + number + `" && exit`
}
