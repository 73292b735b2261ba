package systemtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spawn starts the built program as a server, and returns when it is ready.
func spawn(t *testing.T, args ...string) (*exec.Cmd, servertest.Announcement) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	announced, err := servertest.ReadAnnouncement(stdout)
	require.NoError(t, err, "the error stream of the test says more")
	return cmd, announced
}

// privately are the flags of a server with a private PostgreSQL.
func privately(dir string) []string {
	return []string{"--data-dir", dir, "--postgres-bin", os.Getenv("FENCEPOST_TEST_POSTGRES_BIN")}
}

func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	return pid
}

func TestSIGTERMAndSIGINTEndTheServerAndItsPostgreSQLInGoodOrder(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		cmd, _ := spawn(t, privately(dir)...)
		require.NoError(t, cmd.Process.Signal(signal))
		require.NoError(t, cmd.Wait())
		require.NoFileExists(t, filepath.Join(dir, "postgres", "postmaster.pid"))
	}
}

func TestKilledServerTakesItsPostgreSQLAlongAndStartsAgain(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	cmd, _ := spawn(t, privately(dir)...)
	postgres, err := unix.PidfdOpen(postmaster(t, dir), 0)
	require.NoError(t, err)
	defer unix.Close(postgres)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	requireExit(t, postgres)

	again, p := spawn(t, privately(dir)...)
	require.NotContains(t, p.Text, "password", "the data was kept")
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
