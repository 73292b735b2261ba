package pgtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/localpg"
)

// localEngine is a server started from the programs on the machine, in a temporary directory.
type localEngine struct {
	dir    string
	config localpg.Config
	server *localpg.Server
}

func newLocalEngine(ctx context.Context, binDir string, settings []string) (*localEngine, error) {
	found, err := localpg.Find(binDir)
	if err != nil {
		return nil, err
	}
	dir, err := makeDir()
	if err != nil {
		return nil, err
	}
	e := &localEngine{dir: dir, config: localpg.Config{
		DataDir: filepath.Join(dir, "pg"), BinDir: found,
		Settings: settings, Log: slog.New(slog.DiscardHandler),
	}}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return e, nil
}

func makeDir() (string, error) {
	dir, err := os.MkdirTemp("", "fencepost-pgtest-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755) //nolint:gosec // when root tests, PostgreSQL runs as another user, who must enter
}

// DataDir is a path for the data of a private PostgreSQL, which may run as another user; t.TempDir is closed to others.
func DataDir(t *testing.T) string {
	t.Helper()
	dir, err := makeDir()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "data")
}

func (e *localEngine) url() string { return e.server.URL() }

func (e *localEngine) start(ctx context.Context) error {
	server, err := localpg.Start(ctx, e.config)
	if err != nil {
		return err
	}
	e.server = server
	return nil
}

func (e *localEngine) stop(context.Context) error { return e.server.Stop() }

// crash is the immediate shutdown: every process of the server exits at once.
func (e *localEngine) crash(context.Context) error {
	lock, err := os.ReadFile(filepath.Join(e.config.DataDir, "postmaster.pid"))
	if err != nil {
		return err
	}
	var pid int // the first line
	if _, err := fmt.Sscan(string(lock), &pid); err != nil {
		return fmt.Errorf("process id of PostgreSQL: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		return err
	}
	<-e.server.Done()
	return nil
}

func (e *localEngine) remove() error {
	_ = e.server.Stop() // it may have crashed, as a test wanted; its data goes anyway
	return os.RemoveAll(e.dir)
}
