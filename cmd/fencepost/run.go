package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// shell is what a command gets from whoever started it.
type shell struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(name string) (value string, set bool)
}

// run executes one command line and returns its exit code: 0, or another after a message on stderr (see exitCode). When
// ctx ends, a server finishes what it has begun and that is a success.
func run(ctx context.Context, sh shell, args []string) int {
	understood := false
	root := newRootCommand(sh)
	root.SetArgs(args)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		understood = true
		return usage(applyEnvironment(cmd.Flags(), sh.lookupEnv))
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(sh.stderr, "fencepost:", strings.TrimSpace(err.Error()))
	if !understood {
		fmt.Fprintf(sh.stderr, "See \"%s --help\".\n", cmd.CommandPath())
	}
	return exitCode(cmd, understood, err)
}

func newRootCommand(sh shell) *cobra.Command {
	root := &cobra.Command{
		Use:   "fencepost",
		Short: "Durable ETL jobs that can be cancelled and replayed, on PostgreSQL",
		Long: `Fencepost accepts batches of records over REST and GraphQL, loads each batch into PostgreSQL in one
transaction, and never loads one twice. A job can be cancelled as long as it has not succeeded, and replayed
when it has failed or was cancelled.

Every setting can be given as a flag or as the environment variable that its help names. A flag wins.`,
		Example: `  fencepost serve                     # everything in one process, with a PostgreSQL of its own
  fencepost migrate up                # prepare the database named by FENCEPOST_DATABASE_URL
  fencepost users add ann --users-file users
  fencepost job submit orders.json    # and watch, cancel, replay, lineage: see "fencepost job --help"`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(sh.stdin)
	root.SetOut(sh.stdout)
	root.SetErr(sh.stderr)
	root.AddCommand(newServeCommand(sh), newWorkCommand(sh), newMigrateCommand(), newRetentionCommand(), newUsersCommand(sh),
		newJobCommand(sh), newHealthCommand(), newManCommand(), newVersionCommand())
	describeEnvironment(root)
	return root
}

// showHelp is what a command with subcommands does by itself.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// namedArgs demands the arguments that the command's own line of use names.
func namedArgs(cmd *cobra.Command, args []string) error {
	_, names, _ := strings.Cut(cmd.Use, " ")
	if len(args) != len(strings.Fields(names)) {
		return fmt.Errorf("write it as: %s %s", cmd.CommandPath(), names)
	}
	return nil
}
