package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// shell is what a command gets from whoever started it.
type shell struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(name string) (value string, set bool)
}

// run executes one command line and returns its exit code: 0, or 1 after a message on stderr. When ctx ends, a server
// finishes what it has begun and that is a success.
func run(ctx context.Context, sh shell, args []string) int {
	root := newRootCommand(sh)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(sh.stderr, "fencepost:", err)
		return 1
	}
	return 0
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
  fencepost users add ann --users-file users`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return applyEnvironment(cmd.Flags(), sh.lookupEnv)
		},
	}
	root.SetIn(sh.stdin)
	root.SetOut(sh.stdout)
	root.SetErr(sh.stderr)
	root.AddCommand(newServeCommand(sh), newWorkCommand(sh), newMigrateCommand(), newUsersCommand(sh), newVersionCommand())
	describeEnvironment(root)
	return root
}
