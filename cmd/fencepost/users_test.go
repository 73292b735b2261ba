package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"fencepost/internal/auth"
	"fencepost/internal/command"
)

func TestUsersAreAddedListedAndRemoved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users")
	e := env{"FENCEPOST_USERS_FILE": file}
	for _, user := range []string{"bob", "ann"} {
		o := invoke(t, e, strings.NewReader("a long password\r\nignored"), "users", "add", user, "--password-stdin")
		require.Equal(t, outcome{stdout: "Added " + user + ".\n"}, o)
	}
	require.Equal(t, "ann\nbob\n", invoke(t, e, nil, "users", "list").stdout)
	require.Equal(t, "Removed bob.\n", invoke(t, e, nil, "users", "remove", "bob").stdout)
	require.Equal(t, "ann\n", invoke(t, e, nil, "users", "list").stdout)
}

func TestUsersCommandsTellWhatIsWrong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users")
	require.Contains(t, refused(t, "users", "list"), "--users-file or FENCEPOST_USERS_FILE")
	require.Contains(t, refused(t, "users", "list", "--users-file", file), "no such file")
	require.Contains(t, refused(t, "users", "remove", "bob", "--users-file", usersFile(t)), auth.ErrUserNotFound.Error())

	o := invoke(t, nil, strings.NewReader("short\n"), "users", "add", "ann", "--users-file", file, "--password-stdin")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.stderr, auth.ErrInvalidPassword.Error())
}

func TestPasswordIsOnlyAskedForOnATerminal(t *testing.T) {
	t.Parallel()
	notATerminal, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer notATerminal.Close()
	for _, stdin := range []io.Reader{strings.NewReader("a long password\n"), notATerminal} {
		o := invoke(t, nil, stdin, "users", "add", "ann", "--users-file", "unused")
		require.Equal(t, 1, o.code)
		require.Contains(t, o.stderr, "--password-stdin")
	}
}

// addOnTerminal runs "users add" on a terminal on which the input is typed ahead.
func addOnTerminal(t *testing.T, file, typed string) outcome {
	t.Helper()
	keyboard, terminal, err := pty.Open()
	require.NoError(t, err)
	defer keyboard.Close()
	defer terminal.Close()
	_, err = keyboard.WriteString(typed)
	require.NoError(t, err)
	return invoke(t, nil, terminal, "users", "add", "ann", "--users-file", file)
}

func TestPasswordIsAskedForTwice(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users")
	o := addOnTerminal(t, file, "a long password\na long password\n")
	require.Equal(t, 0, o.code, o.stderr)
	require.Equal(t, "Password: \nPassword again: \n", o.stderr)
	names, err := auth.List(file)
	require.NoError(t, err)
	require.Equal(t, []string{"ann"}, names)

	o = addOnTerminal(t, file, "a long password\nanother password\n")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.stderr, "the two passwords differ")
}

// hangUp closes the terminal's other side as soon as something is written.
type hangUp struct{ keyboard *os.File }

func (h hangUp) Write(p []byte) (int, error) { return len(p), h.keyboard.Close() }

func TestTerminalThatHangsUpAddsNobody(t *testing.T) {
	t.Parallel()
	keyboard, terminal, err := pty.Open()
	require.NoError(t, err)
	defer terminal.Close()
	file := filepath.Join(t.TempDir(), "users")
	sh := command.Shell{Stdin: terminal, Stdout: io.Discard, Stderr: hangUp{keyboard}, LookupEnv: env{}.lookup}
	require.Equal(t, 1, run(t.Context(), sh, []string{"users", "add", "ann", "--users-file", file}))
	require.NoFileExists(t, file)
}
