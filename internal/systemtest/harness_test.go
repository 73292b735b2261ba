package systemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

// The short names of what most tests use.
const (
	name     = servertest.Name
	password = servertest.Password
	patience = servertest.Patience
)

type (
	process = servertest.Process
	answer  = servertest.Answer
)

var (
	serve          = servertest.Serve
	withoutWorkers = servertest.WithoutWorkers
	loading        = servertest.Loading
	call           = servertest.Call
	callAs         = servertest.CallAs
	status         = servertest.Status
	requireSuccess = servertest.RequireSuccess
)

func TestMain(m *testing.M) { pgtest.Main(m, func() error { return os.RemoveAll(binaryDir) }) }

var binaryDir = filepath.Join(os.TempDir(), fmt.Sprintf("fencepost-test-%d", os.Getpid()))

// binary is the program, built for the tests that start it as a process.
func binary(t *testing.T) string {
	t.Helper()
	path, err := buildBinary()
	require.NoError(t, err)
	return path
}

var buildBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaryDir, "fencepost")
	output, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, "../../cmd/fencepost").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, output)
	}
	return path, err
})

type outcome struct {
	code           int
	stdout, stderr string
}

// runProgram runs a program to its end.
func runProgram(t *testing.T, environment []string, path string, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = environment
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		_, exited := errors.AsType[*exec.ExitError](err)
		require.True(t, exited, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// asUser is the environment of a user of a server.
func asUser(p *process) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "FENCEPOST_SERVER=" + p.API, "FENCEPOST_USER=" + name, "FENCEPOST_PASSWORD=" + password}
}
