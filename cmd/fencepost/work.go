package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fencepost/internal/command"
	"fencepost/internal/server"
)

func newWorkCommand(sh command.Shell) *cobra.Command {
	c := server.WorkerDefaults()
	var log logOptions
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Run jobs, without serving requests",
		Long: `Run jobs, without serving requests. Any number of processes may do so beside each other and beside "serve".

On SIGINT or SIGTERM it claims no more jobs and finishes those that run, for at most the drain timeout. A job that
does not finish is rolled back, and runs again elsewhere when its lease has expired. On SIGHUP it reads the load file again.`,
		Example: `  fencepost work --database-url postgres://fencepost@db.example.com/fencepost
  fencepost work --workers 16 --pool-size 32 --load-sql-file load.sql`,
		Args: cobra.NoArgs,
		RunE: withDatabase(&c.Database.URL, func(cmd *cobra.Command) error {
			c.Runtime = log.runtime(sh)
			return work(cmd.Context(), sh.Stdout, c)
		}),
	}
	flags := cmd.Flags()
	registerDatabase(flags, &c.Database)
	registerJobs(flags, &c.Worker, 1)
	registerAdmin(flags, &c.Admin)
	log.register(flags)
	return cmd
}

// work runs jobs until ctx ends and those that run are finished, or until a part of it fails.
func work(ctx context.Context, stdout io.Writer, c server.WorkerConfig) error {
	p, err := server.OpenWorker(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Fencepost runs jobs. Metrics: %s/metrics\n", p.Welcome.AdminURL)
	return errors.Join(p.Run(ctx), p.Close())
}
