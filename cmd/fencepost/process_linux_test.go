package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spawn starts the program in a process of its own, and returns when it is ready.
func spawn(t *testing.T, args ...string) (*exec.Cmd, *process) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), runMain+"=1", "GOCOVERDIR="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	p := &process{stop: func() { _ = cmd.Process.Kill() }, ended: make(chan outcome, 1)}
	p.ended <- outcome{stderr: "see the error stream of the test"}
	p.readAnnouncement(t, stdout, serveIsReady)
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return cmd, p
}

func TestSIGTERMAndSIGINTEndTheServerAndItsPostgreSQLInGoodOrder(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		cmd, _ := spawn(t, privately(dir)...)
		require.NoError(t, cmd.Process.Signal(signal))
		require.NoError(t, cmd.Wait())
		require.NoFileExists(t, filepath.Join(dir, "postgres", "postmaster.pid"))
	}
}

func TestKilledServerTakesItsPostgreSQLAlongAndStartsAgain(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cmd, _ := spawn(t, privately(dir)...)
	postgres, err := unix.PidfdOpen(postmaster(t, dir), 0)
	require.NoError(t, err)
	defer unix.Close(postgres)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	requireExit(t, postgres)

	again, p := spawn(t, privately(dir)...)
	require.NotContains(t, p.announced, "password", "the data was kept")
	require.NoError(t, again.Process.Signal(os.Interrupt))
	require.NoError(t, again.Wait(), "its PostgreSQL must have ended before its data is removed")
}

// requireExit waits for the end of the process of a descriptor, which then becomes readable (pidfd_open(2)). A signal interrupts
// poll(2), and this process is sent one whenever a child of any test ends, or Go's runtime stops a thread.
func requireExit(t *testing.T, pidfd int) {
	t.Helper()
	ready, err := 0, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		ready, err = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	}
	require.NoError(t, err)
	require.Equal(t, 1, ready)
}
