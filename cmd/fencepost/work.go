package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fencepost/internal/feed"
)

// workOptions are the flags of "work".
type workOptions struct {
	database databaseOptions
	worker   workerOptions
	admin    adminOptions
	log      logOptions
}

func newWorkCommand(sh shell) *cobra.Command {
	var o workOptions
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Run jobs, without serving requests",
		Long: `Run jobs, without serving requests. Any number of processes may do so beside each other and beside "serve".

On SIGINT or SIGTERM it claims no more jobs and finishes those that run, for at most the drain timeout. A job that
does not finish is rolled back, and runs again elsewhere when its lease has expired.`,
		Example: `  fencepost work --database-url postgres://fencepost@db.example.com/fencepost
  fencepost work --workers 16 --pool-size 32 --load-sql-file load.sql`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.work(cmd.Context(), sh) },
	}
	flags := cmd.Flags()
	o.database.register(flags, 40)
	o.worker.register(flags, 1, 32)
	o.admin.register(flags, "127.0.0.1:9091")
	o.log.register(flags)
	return cmd
}

func (o *workOptions) work(ctx context.Context, sh shell) error {
	if o.database.url == "" {
		return errNoDatabase
	}
	if err := errors.Join(o.admin.check(), checkPool(o.database, o.worker)); err != nil {
		return err
	}
	log := o.log.logger(sh)
	metrics, stopTelemetry, err := startTelemetry(ctx, log)
	if err != nil {
		return err
	}
	defer stopTelemetry()
	b, err := openBackend(ctx, o.database.url, o.database, feed.Limits{})
	if err != nil {
		return err
	}
	defer b.close()
	b.watch(metrics)
	admin, err := openAdminDoor(ctx, o.admin, metrics)
	if err != nil {
		return err
	}
	fmt.Fprintf(sh.stdout, "Fencepost runs jobs. Metrics: %s/metrics\n", admin.url())
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return admin.serve(ctx, o.worker.DrainTimeout) })
	parts.Go(func() error { return b.work(ctx, o.worker.Config, metrics, log) })
	return parts.Wait()
}
