package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Shell is what a command gets from whoever started it.
type Shell struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv finds a variable of the environment, as [os.LookupEnv] does.
	LookupEnv func(name string) (value string, set bool)
}

// Action is what a command does: cobra's RunE.
type Action func(cmd *cobra.Command, args []string) error

// UsageError is a command line that cannot be carried out, whatever happens elsewhere.
type UsageError struct{ error }

// Misused makes a [UsageError] of an error, and nothing of nil.
func Misused(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// ExitCode names the class of an error of a command.
type ExitCode func(cmd *cobra.Command, err error) int

// Run executes one command line of a tree of commands and returns its exit code: 0, or another after a message on stderr.
func Run(ctx context.Context, sh Shell, root *cobra.Command, exitCode ExitCode, args []string) int {
	understood := false
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(sh.Stdin)
	root.SetOut(sh.Stdout)
	root.SetErr(sh.Stderr)
	root.SetArgs(args)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		understood = true
		return Misused(ApplyEnvironment(cmd.Flags(), sh.LookupEnv))
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(sh.Stderr, "fencepost:", strings.TrimSpace(err.Error()))
	if !understood {
		fmt.Fprintf(sh.Stderr, "See \"%s --help\".\n", cmd.CommandPath())
		err = Misused(err)
	}
	return exitCode(cmd, err)
}

// ShowHelp is what a command with subcommands does by itself.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// NamedArgs demands the arguments that the command's own line of use names.
func NamedArgs(cmd *cobra.Command, args []string) error {
	_, names, _ := strings.Cut(cmd.Use, " ")
	if len(args) != len(strings.Fields(names)) {
		return fmt.Errorf("write it as: %s %s", cmd.CommandPath(), names)
	}
	return nil
}
