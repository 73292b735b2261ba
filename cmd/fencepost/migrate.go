package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fencepost/internal/command"
	"fencepost/internal/postgres/schema"
)

// errNoDatabase tells how to name a database.
var errNoDatabase = errors.New("name the database with --database-url or FENCEPOST_DATABASE_URL")

func newMigrateCommand() *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema up, take it back, or show where it is",
		Long: `Bring the database schema up, take it back, or show where it is.

Migrators that run at the same time wait for each other. "serve" without a database URL migrates its private
PostgreSQL by itself.`,
		Args: cobra.NoArgs,
		RunE: command.ShowHelp,
	}
	registerDatabaseURL(cmd.PersistentFlags(), &url)
	cmd.AddCommand(newMigrateUpCommand(&url), newMigrateDownCommand(&url), newMigrateStatusCommand(&url))
	return cmd
}

func newMigrateUpCommand(url *string) *cobra.Command {
	return &cobra.Command{
		Use:     "up",
		Short:   "Bring the schema to the version that this program needs",
		Example: "  fencepost migrate up --database-url postgres://migrator@db.example.com/fencepost",
		Args:    cobra.NoArgs,
		RunE: withDatabase(url, func(cmd *cobra.Command) error {
			return report(cmd, *url, migrator(cmd, *url).Up(cmd.Context()))
		}),
	}
}

func newMigrateDownCommand(url *string) *cobra.Command {
	var to int
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take the schema back by one version, or to the one given",
		Long: `Take the schema back by one version, or to the one given.

A step that would lose a state that jobs are still in is refused, with the reason.`,
		Example: `  fencepost migrate down
  fencepost migrate down --to 3`,
		Args: cobra.NoArgs,
		RunE: withDatabase(url, func(cmd *cobra.Command) error {
			target := int64(to)
			if !cmd.Flags().Changed("to") {
				previous, err := previousVersion(cmd.Context(), *url)
				if err != nil {
					return err
				}
				target = previous
			}
			return report(cmd, *url, migrator(cmd, *url).Down(cmd.Context(), target))
		}),
	}
	command.IntegerFlag(cmd.Flags(), &to, "to", command.Bounds[int]{Min: 0, Max: 99_999}, "version to go back to; 0 is an empty database")
	return cmd
}

func newMigrateStatusCommand(url *string) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "List the versions and whether the database has them",
		Example: "  fencepost migrate status",
		Args:    cobra.NoArgs,
		RunE: withDatabase(url, func(cmd *cobra.Command) error {
			steps, err := schema.Migrations(cmd.Context(), *url)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "VERSION\tNAME\tAPPLIED")
			for _, s := range steps {
				fmt.Fprintf(table, "%d\t%s\t%s\n", s.Version, s.Name, appliedAt(s))
			}
			return table.Flush()
		}),
	}
}

// migrator says on standard error for whom it waits.
func migrator(cmd *cobra.Command, url string) schema.Migrator {
	return schema.Migrator{URL: url, Waiting: func(h schema.Holder) { cmd.PrintErrf("Waiting for %v.\n", h) }}
}

func withDatabase(url *string, action func(*cobra.Command) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if *url == "" {
			return errNoDatabase
		}
		return action(cmd)
	}
}

func appliedAt(m schema.Migration) string {
	if !m.Applied {
		return "no"
	}
	return m.AppliedAt.UTC().Format(time.RFC3339)
}

// report prints the version that a migration has led to, unless it failed.
func report(cmd *cobra.Command, url string, failure error) error {
	current, _, err := versions(cmd.Context(), url)
	if err := cmp.Or(failure, err); err != nil {
		return err
	}
	cmd.Printf("The schema is at version %d.\n", current)
	return nil
}

// previousVersion is the one before the current.
func previousVersion(ctx context.Context, url string) (int64, error) {
	current, previous, err := versions(ctx, url)
	if err == nil && current == 0 {
		return 0, errors.New("the database has no schema to take back")
	}
	return previous, err
}

// versions are the last two that the database has, 0 where there is none.
func versions(ctx context.Context, url string) (current, previous int64, err error) {
	steps, err := schema.Migrations(ctx, url)
	for _, s := range steps {
		if s.Applied {
			current, previous = s.Version, current
		}
	}
	return current, previous, err
}
