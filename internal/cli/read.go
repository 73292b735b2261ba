package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"fencepost/client"
	"fencepost/internal/command"
	"fencepost/internal/job"
)

// largestPage is how many jobs the server lists at once.
const largestPage = 100

// listOptions say which jobs to list.
type listOptions struct {
	statuses []string
	replay   bool
	limit    int
}

func (j *jobCommand) listCommand() *cobra.Command {
	o := listOptions{limit: 50}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List your jobs, newest first",
		Example: `  fencepost job list
  fencepost job list --status FAILED --status CANCELLED --limit 0 --output id
  fencepost job list --replay=false --output json`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = j.with(func(ctx context.Context, c *client.Client, _ []string) error {
		filter, err := o.filter(cmd)
		if err != nil {
			return err
		}
		jobs, err := j.collect(ctx, c, filter, o.limit)
		if err != nil {
			return err
		}
		return j.showJobs(jobs, jobs...)
	})
	flags := cmd.Flags()
	flags.StringSliceVar(&o.statuses, "status", nil, "only jobs in this status; repeat it for several")
	completeFlag(cmd, "status", statusNames())
	flags.BoolVar(&o.replay, "replay", false, "only replays, or with --replay=false only jobs that are none")
	command.IntegerFlag(flags, &o.limit, "limit", command.Bounds[int]{Min: 0, Max: 1_000_000}, "most jobs to list; 0 is all of them")
	j.outputFlag(cmd, outputID)
	return cmd
}

func statusNames() (names []string) {
	for _, status := range job.Statuses {
		names = append(names, string(status))
	}
	return names
}

// filter asks for one job more than the limit where that costs no further page, to know whether there are more.
func (o *listOptions) filter(cmd *cobra.Command) (client.Filter, error) {
	f := client.Filter{PageSize: largestPage}
	if o.limit != 0 {
		f.PageSize = min(o.limit+1, largestPage)
	}
	if cmd.Flags().Changed("replay") {
		f.Replay = &o.replay
	}
	for _, name := range o.statuses {
		status := strings.ToUpper(name)
		if !job.Status(status).Valid() {
			return f, command.Misused(fmt.Errorf("--status: must be one of %s", strings.Join(statusNames(), ", ")))
		}
		f.Statuses = append(f.Statuses, client.Status(status))
	}
	return f, nil
}

func (j *jobCommand) collect(ctx context.Context, c *client.Client, f client.Filter, limit int) ([]client.Job, error) {
	jobs := []client.Job{} // so that no jobs are an empty array in JSON
	for found, err := range c.List(ctx, f) {
		if err != nil {
			return nil, err
		}
		if limit != 0 && len(jobs) == limit {
			fmt.Fprintln(j.Stderr, "There are more; --limit 0 lists all.")
			break
		}
		jobs = append(jobs, found)
	}
	return jobs, nil
}

func (j *jobCommand) getCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get JOB",
		Short:   "Show a job as it is now",
		Example: `  fencepost job get 0199c2f0-6a00-7000-8000-000000000001 --output json`,
		Args:    command.NamedArgs,
		RunE: j.withJob(func(ctx context.Context, c *client.Client, id uuid.UUID, _ []string) error {
			found, err := c.Get(ctx, id)
			if err != nil {
				return err
			}
			return j.showJobs(found, found)
		}),
		ValidArgsFunction: j.completeJob(),
	}
	j.outputFlag(cmd, outputID)
	return cmd
}
