package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fencepost/internal/command"
	"fencepost/internal/postgres/check"
	"fencepost/internal/server"
)

// errUnhealthy ends a doctor's visit that found something; what it is has been printed.
var errUnhealthy = errors.New("something would keep jobs from being run: see above")

func newDoctorCommand(sh command.Shell) *cobra.Command {
	d := server.WorkerDefaults().Database
	output := "table"
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what would keep jobs from being run",
		Long: `Look for what would keep jobs from being run: the checks that "serve" and "work" make when they start, as a table.

It changes nothing, and exits with 1 when a check fails.`,
		Example: `  fencepost doctor --database-url postgres://fencepost@db.example.com/fencepost
  fencepost doctor --load-sql-file load.sql --output json`,
		Args: cobra.NoArgs,
		RunE: withDatabase(&d.URL, func(cmd *cobra.Command) error {
			results, err := server.Examine(cmd.Context(), d)
			if err != nil {
				return err
			}
			return errors.Join(showResults(sh, output, results), verdict(results))
		}),
	}
	registerDatabase(cmd.Flags(), &d)
	command.ChoiceFlag(cmd.Flags(), &output, "output", []string{"table", "json"}, "form of the result")
	return cmd
}

func verdict(results []check.Result) error {
	if check.FirstFailure(results) != nil {
		return errUnhealthy
	}
	return nil
}

func showResults(sh command.Shell, output string, results []check.Result) error {
	if output == "json" {
		encoder := json.NewEncoder(sh.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(results)
	}
	w := tabwriter.NewWriter(sh.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CHECK\tSTATE\tFINDING")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.State, r.Finding)
	}
	return w.Flush()
}
