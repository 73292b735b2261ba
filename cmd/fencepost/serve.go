package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// serveOptions are the flags of "serve".
type serveOptions struct {
	database databaseOptions
	worker   workerOptions
	requests requestOptions
	listen   listenOptions
	log      logOptions
	site     siteOptions
}

func newServeCommand(sh shell) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve REST and GraphQL, and run jobs",
		Long: `Serve REST and GraphQL, and run jobs.

Without --database-url it starts a private PostgreSQL from the programs on this machine, migrates it, and makes a
user "operator" whose password it prints once. With --database-url the schema must be up to date ("fencepost
migrate up"), and --users-file names the users.

On SIGINT or SIGTERM it stops accepting work and finishes what it has begun, for at most the drain timeout.`,
		Example: `  fencepost serve
  fencepost serve --database-url postgres://fencepost@db.example.com/fencepost --users-file users
  fencepost serve --replica-url postgres://fencepost@replica.example.com/fencepost
  fencepost serve --listen :8443 --tls-cert server.crt --tls-key server.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), sh) },
	}
	flags := cmd.Flags()
	o.site.register(flags)
	o.database.register(flags, 20)
	o.database.registerReplicaURL(flags)
	o.listen.register(flags)
	o.requests.register(flags)
	o.worker.register(flags, 0, 8)
	o.log.register(flags)
	return cmd
}

// serve runs until ctx ends and everything has been drained, or until a part of it fails.
func (o *serveOptions) serve(ctx context.Context, sh shell) (err error) {
	if err := errors.Join(o.listen.check(), checkPool(o.database, o.worker)); err != nil {
		return err
	}
	bound := collectRarely(sh.lookupEnv, o.requests.limits.MaxPayloadBytes)
	log := o.log.logger(sh)
	s, err := o.openSite(ctx, sh, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return o.serveSite(ctx, sh.stdout, log, s, bound)
}

func (o *serveOptions) serveSite(ctx context.Context, stdout io.Writer, log *slog.Logger, s site, bound memoryBound) error {
	parts, ctx := errgroup.WithContext(ctx)
	metrics, stopTelemetry, err := startTelemetry(ctx, log, routes...)
	if err != nil {
		return err
	}
	defer stopTelemetry()
	b, err := openBackend(ctx, s.databaseURL, o.database, o.requests.streams)
	if err != nil {
		return err
	}
	defer b.close()
	b.watch(metrics)
	if err := b.useReplica(ctx, o.database, metrics); err != nil {
		return err
	}
	handler, err := o.handler(ctx, b, s.usersFile, metrics, log)
	if err != nil {
		return err
	}
	public, err := openPublicDoor(ctx, o.listen, handler)
	if err != nil {
		return err
	}
	defer public.close()
	admin, err := openAdminDoor(ctx, o.listen.admin, metrics)
	if err != nil {
		return err
	}
	announce(stdout, public, admin, s)
	parts.Go(func() error { return public.serve(ctx, o.worker.DrainTimeout) })
	parts.Go(func() error { return admin.serve(ctx, o.worker.DrainTimeout) })
	parts.Go(func() error { return b.work(ctx, o.worker.Config, metrics, log) })
	parts.Go(func() error { return s.watch(ctx) })
	parts.Go(func() error { bound.follow(ctx, b.streams); return nil })
	return parts.Wait()
}

// announce tells a person what to open. The password of a new operator is told here and nowhere else.
func announce(w io.Writer, public, admin *door, s site) {
	fmt.Fprintln(w, "Fencepost is ready.")
	fmt.Fprintf(w, "  REST      %s/api/etl/jobs, described in %s/openapi.json\n", public.url(), public.url())
	fmt.Fprintf(w, "  GraphQL   %s/graphql, to try in %s/playground\n", public.url(), public.url())
	fmt.Fprintf(w, "  Lineage   %s/lineage\n", public.url())
	fmt.Fprintf(w, "  Metrics   %s/metrics\n", admin.url())
	fmt.Fprintf(w, "  Users     %s\n", s.usersFile)
	if s.dataDir != "" {
		fmt.Fprintf(w, "  Data      %s\n", s.dataDir)
	}
	if s.password != "" {
		fmt.Fprintf(w, "  Sign in as %q with the password %s (shown only now)\n", operator, s.password)
	}
	fmt.Fprintln(w, "Ctrl-C stops it.")
}
