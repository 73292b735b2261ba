package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fencepost/internal/command"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/retention"
	"fencepost/internal/postgres/schema"
)

// The ages that a purge can be told. A client that lost its answer must have time to ask again under the same key.
const (
	youngestPurge = time.Hour
	oldestPurge   = 100 * 365 * command.Day
)

func newRetentionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retention",
		Short: "Remove jobs that nobody needs any more",
		Args:  cobra.NoArgs,
		RunE:  command.ShowHelp,
	}
	cmd.AddCommand(newPurgeCommand())
	return cmd
}

func newPurgeCommand() *cobra.Command {
	var (
		url string
		r   = retention.Policy{BatchSize: 1000}
	)
	cmd := &cobra.Command{
		Use:   "purge",
		Short: "Remove lineages in which every job has ended long ago",
		Long: `Remove lineages in which every job has ended, and the latest change is older than the age given.

A lineage goes as a whole or stays as a whole, with its rows of the ledger. What its jobs loaded stays. The
idempotency keys of removed jobs are forgotten: used again, they make new jobs.

It can run beside servers and workers. Stopped by SIGINT or SIGTERM, it finishes the batch that it is at, and is
an error; run it again for the rest.`,
		Example: `  fencepost retention purge --older-than 90d --dry-run
  fencepost retention purge --older-than 2160h --database-url postgres://retention@db.example.com/fencepost`,
		Args: cobra.NoArgs,
		RunE: withDatabase(&url, func(cmd *cobra.Command) error { return purge(cmd, url, r) }),
	}
	registerDatabaseURL(cmd.Flags(), &url)
	command.AgeFlag(cmd.Flags(), &r.OlderThan, "older-than", command.Bounds[time.Duration]{Min: youngestPurge, Max: oldestPurge},
		"how long ago the latest change must be, such as 90d or 36h")
	command.IntegerFlag(cmd.Flags(), &r.BatchSize, "batch-size", command.Bounds[int]{Min: 1, Max: 100_000}, "jobs that one transaction looks at")
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "count and remove nothing")
	_ = cmd.MarkFlagRequired("older-than") // there is that flag
	return cmd
}

// purge tells what it has removed, also when it ended early.
func purge(cmd *cobra.Command, url string, r retention.Policy) error {
	pool, err := db.Open(cmd.Context(), url, 1)
	if err != nil {
		return fmt.Errorf("--database-url: %w", err)
	}
	defer pool.Close()
	if err := schema.Check(cmd.Context(), pool); err != nil {
		return err
	}
	purged, err := retention.Purge(cmd.Context(), pool, r)
	verb := "Removed"
	if r.DryRun {
		verb = "Would remove"
	}
	cmd.Printf("%s lineages: %d, jobs: %d, ledger rows: %d.\n", verb, purged.Lineages, purged.Jobs, purged.LedgerRows)
	if errors.Is(err, context.Canceled) {
		return errors.New("stopped before the end: run it again for the rest")
	}
	return err
}
