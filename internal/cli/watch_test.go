package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"fencepost/internal/command"
	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
	"fencepost/jobtype"
)

// refusingLoad is a load that fails for good.
func refusingLoad(t *testing.T) string {
	t.Helper()
	return servertest.File(t, "load.sql", `SELECT 1 / 0 FROM (SELECT @records::jsonb) AS batch`, 0o600)
}

func TestWatchEndsWithTheCodeOfTheEnd(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.Loading(refusingLoad(t)))
	failed := p.job(t, "watch", p.id(t, "submit", ordersFile(t)))
	require.Equal(t, exitFailed, failed.code)
	require.Contains(t, failed.stderr, "the job failed: etl_target_failure")
	require.Contains(t, failed.stdout, "FAILED")

	idle := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	id := idle.id(t, "submit", ordersFile(t))
	idle.prints(t, "cancel", id)
	cancelled := idle.job(t, "watch", id)
	require.Equal(t, exitCancelled, cancelled.code)
	require.Contains(t, cancelled.stderr, "the job was cancelled")
}

func TestWatchShowsEachChangeOfAGatedJob(t *testing.T) {
	t.Parallel()
	p, g, id := serveGated(t, pgtest.URL(t))
	stdout, printed := io.Pipe()
	code := make(chan int)
	go func() {
		code <- run(t.Context(), command.Shell{Stdout: printed, Stderr: io.Discard, LookupEnv: p.env().lookup}, []string{"job", "watch", id, "--output", "json"})
		printed.CloseWithError(io.EOF)
	}()
	lines := readLines(stdout)
	require.Equal(t, jobtype.StatusRunning, parseJob(t, <-lines).Status)
	g.Open(t)
	require.Equal(t, jobtype.StatusSucceeded, parseJob(t, <-lines).Status)
	require.Equal(t, 0, <-code)
}

// readLines hands out what a command prints, line by line.
func readLines(r io.Reader) <-chan string {
	lines := make(chan string, 1)
	go func() {
		defer close(lines)
		var text bytes.Buffer
		buffer := make([]byte, 4096)
		for n, err := r.Read(buffer); err == nil; n, err = r.Read(buffer) {
			text.Write(buffer[:n])
			for bytes.ContainsRune(text.Bytes(), '\n') {
				line, _ := text.ReadString('\n')
				lines <- line
			}
		}
	}()
	return lines
}

func TestWatchKeepsToOneLineOnATerminal(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t))
	id := p.id(t, "submit", ordersFile(t))
	screen, terminal, err := pty.Open()
	require.NoError(t, err)
	defer screen.Close()
	code := run(t.Context(), command.Shell{Stdout: terminal, Stderr: io.Discard, LookupEnv: p.env().lookup}, []string{"job", "watch", id})
	require.Equal(t, 0, code)
	require.NoError(t, terminal.Close())
	shown, _ := io.ReadAll(screen) // ends with an error, as terminals do
	require.True(t, strings.HasPrefix(string(shown), "\r\x1b[K"), "%q", shown)
	require.True(t, strings.HasSuffix(string(shown), "SUCCEEDED, attempts: 1\r\n"), "%q", shown)
	require.Equal(t, 1, strings.Count(string(shown), "\n"))
}

func TestWatchEndsWhenNobodyReadsIt(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	id := p.id(t, "submit", ordersFile(t))
	reader, closed, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.NoError(t, closed.Close())
	code := run(t.Context(), command.Shell{Stdout: closed, Stderr: io.Discard, LookupEnv: p.env().lookup}, []string{"job", "watch", id})
	require.Equal(t, exitFailure, code)
}
