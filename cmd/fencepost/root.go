package main

import (
	"context"

	"github.com/spf13/cobra"

	"fencepost/internal/cli"
	"fencepost/internal/command"
)

// run executes one command line and returns its exit code: 0, or another after a message on stderr. When ctx ends, a server
// finishes what it has begun and that is a success.
func run(ctx context.Context, sh command.Shell, args []string) int {
	return command.Run(ctx, sh, newRootCommand(sh), cli.ExitCode, args)
}

func newRootCommand(sh command.Shell) *cobra.Command {
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
	}
	root.AddCommand(newServeCommand(sh), newWorkCommand(sh), newDoctorCommand(sh), newMigrateCommand(), newRetentionCommand(), newUsersCommand(sh),
		cli.NewCommand(sh), newHealthCommand(), newManCommand(), newVersionCommand())
	command.DescribeEnvironment(root)
	return root
}
