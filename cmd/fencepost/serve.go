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

func newServeCommand(sh command.Shell) *cobra.Command {
	c := server.Defaults()
	var log logOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve REST and GraphQL, and run jobs",
		Long: `Serve REST and GraphQL, and run jobs.

Without --database-url it starts a private PostgreSQL from the programs on this machine, migrates it, and makes a
user "operator" whose password it prints once. With --database-url the schema must be up to date ("fencepost
migrate up"), and --users-file names the users.

On SIGINT or SIGTERM it stops accepting work and finishes what it has begun, for at most the drain timeout.
On SIGHUP it reads the load file and the certificate again; the users file is read by itself when it changes.`,
		Example: `  fencepost serve
  fencepost serve --database-url postgres://fencepost@db.example.com/fencepost --users-file users
  fencepost serve --replica-url postgres://fencepost@replica.example.com/fencepost
  fencepost serve --listen :8443 --tls-cert server.crt --tls-key server.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Runtime = log.runtime(sh)
			return serve(cmd.Context(), sh.Stdout, c)
		},
	}
	flags := cmd.Flags()
	registerSite(flags, &c.Site)
	registerDatabase(flags, &c.Database)
	flags.StringVar(&c.ReplicaURL, "replica-url", "",
		"hot standby of that PostgreSQL, for lists and lineages; without it, or when it lags, they are read from the other")
	registerPublic(flags, &c.Public)
	registerAdmin(flags, &c.Admin)
	registerRequests(flags, &c)
	registerJobs(flags, &c.Worker, 0)
	log.register(flags)
	return cmd
}

// serve runs until ctx ends and everything has been drained, or until a part of it fails.
func serve(ctx context.Context, stdout io.Writer, c server.Config) error {
	p, err := server.OpenServer(ctx, c)
	if err != nil {
		return err
	}
	announce(stdout, p.Welcome)
	return errors.Join(p.Run(ctx), p.Close())
}

// announce tells a person what to open. The password of a new user is told here and nowhere else.
func announce(w io.Writer, to server.Welcome) {
	fmt.Fprintln(w, "Fencepost is ready.")
	fmt.Fprintf(w, "  REST      %s/api/etl/jobs, described in %s/openapi.json\n", to.PublicURL, to.PublicURL)
	fmt.Fprintf(w, "  GraphQL   %s/graphql, to try in %s/playground\n", to.PublicURL, to.PublicURL)
	fmt.Fprintf(w, "  Lineage   %s/lineage\n", to.PublicURL)
	fmt.Fprintf(w, "  Metrics   %s/metrics\n", to.AdminURL)
	fmt.Fprintf(w, "  Users     %s\n", to.UsersFile)
	if to.DataDir != "" {
		fmt.Fprintf(w, "  Data      %s\n", to.DataDir)
	}
	if to.Password != "" {
		fmt.Fprintf(w, "  Sign in as %q with the password %s (shown only now)\n", to.User, to.Password)
	}
	fmt.Fprintln(w, "Ctrl-C stops it.")
}
