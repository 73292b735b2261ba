package main

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/command"
	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

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
	code := run(t.Context(), command.Shell{Stdin: stdin, Stdout: &stdout, Stderr: &stderr, LookupEnv: e.lookup}, args)
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
	servertest.Announcement
	stop  context.CancelFunc
	ended chan outcome
}

// start runs a command and returns when it is ready.
func start(t *testing.T, e env, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stdout, printed := io.Pipe()
	p := &process{stop: cancel, ended: make(chan outcome, 1)}
	go func() {
		var stderr bytes.Buffer
		code := run(ctx, command.Shell{Stdout: printed, Stderr: &stderr, LookupEnv: e.lookup}, args)
		printed.CloseWithError(io.EOF)
		p.ended <- outcome{code: code, stderr: stderr.String()}
	}()
	t.Cleanup(func() { p.end() })
	announced, err := servertest.ReadAnnouncement(stdout)
	if err != nil {
		require.NoError(t, err, "%+v", p.end())
	}
	p.Announcement = announced
	return p
}

// end stops the command and returns how it ended.
func (p *process) end() outcome {
	p.stop()
	o := <-p.ended
	p.ended <- o
	return o
}

// usersFile makes a users file with the user that the tests call servers as.
func usersFile(t *testing.T) string {
	t.Helper()
	return servertest.UsersFile(t, servertest.Name, servertest.Password)
}

// unreachable is a database URL on which nothing listens.
const unreachable = "postgres://someone:secret@127.0.0.1:1/nowhere"
