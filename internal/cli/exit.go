package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"fencepost/client"
	"fencepost/internal/command"
)

// The exit codes of "job", which scripts rely on. Every other command ends with 0 or exitFailure.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitCredentials = 3
	exitNotFound    = 4
	exitRefused     = 5
	exitInvalid     = 6
	exitUnavailable = 7
	exitFailed      = 8
	exitCancelled   = 9
)

// How a watched job can end without success.
var (
	errJobFailed    = errors.New("the job failed")
	errJobCancelled = errors.New("the job was cancelled")
)

// ExitCode names the class of an error of any command of the program. Only those of "job" tell more than that they failed.
func ExitCode(cmd *cobra.Command, err error) int {
	_, isUsage := errors.AsType[command.UsageError](err)
	problem, isProblem := errors.AsType[*client.Problem](err)
	switch {
	case !strings.HasPrefix(cmd.CommandPath()+" ", "fencepost job "):
		return exitFailure
	case isUsage:
		return exitUsage
	case isProblem:
		return problemExitCode(problem)
	case errors.Is(err, errJobFailed):
		return exitFailed
	case errors.Is(err, errJobCancelled):
		return exitCancelled
	case errors.Is(err, client.ErrUnreachable) && !errors.Is(err, context.Canceled): // that would be Ctrl-C
		return exitUnavailable
	default:
		return exitFailure
	}
}

func problemExitCode(p *client.Problem) int {
	switch {
	case p.Temporary():
		return exitUnavailable
	case p.Status == http.StatusUnauthorized:
		return exitCredentials
	case p.Status == http.StatusNotFound:
		return exitNotFound
	case p.Status == http.StatusConflict, strings.HasSuffix(string(p.Code), "_key_reused"):
		return exitRefused
	case p.Status == http.StatusMethodNotAllowed, p.Status == http.StatusNotAcceptable: // this is not a Fencepost server
		return exitFailure
	case p.Status >= 400 && p.Status < 500:
		return exitInvalid
	default:
		return exitFailure
	}
}
