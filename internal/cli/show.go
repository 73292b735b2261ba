package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"fencepost/client"
	"fencepost/internal/command"
	"fencepost/jobtype"
)

// shown is a job with its timeline.
type shown struct {
	client.Job
	Attempts []client.Attempt `json:"attempts"`
}

func (j *jobCommand) showCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show a job with the timeline of its attempts",
		Long: `Show a job with the timeline of its attempts: those that did not end it, the workers that came back too late and were
turned away, and the last one.`,
		Example: `  fencepost job show 0199c2f0-6a00-7000-8000-000000000001`,
		Args:    command.NamedArgs,
		RunE: j.withJob(func(ctx context.Context, c *client.Client, id uuid.UUID, _ []string) error {
			found, err := c.Get(ctx, id)
			s := shown{Job: found}
			if err == nil {
				s.Attempts, err = c.Attempts(ctx, id)
			}
			if err != nil {
				return err
			}
			return j.showTimeline(s)
		}),
		ValidArgsFunction: j.completeJob(),
	}
	j.outputFlag(cmd)
	return cmd
}

func (j *jobCommand) showTimeline(s shown) error {
	if j.output == outputJSON {
		return j.showJSON(s, "  ")
	}
	err := j.showJobs(s.Job, s.Job)
	w := tabwriter.NewWriter(j.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nATTEMPT\tOUTCOME\tSTARTED\tENDED\tSQLSTATE")
	for _, a := range s.Attempts {
		fmt.Fprintln(w, row(a.Number, a.Outcome, a.StartedAt, a.EndedAt, a.SQLState))
	}
	if !s.AttemptStartedAt.IsZero() && s.last() {
		fmt.Fprintln(w, row(s.AttemptCount, string(s.Status), s.AttemptStartedAt, s.ended(), s.FailureSQLState))
	}
	return errors.Join(err, w.Flush())
}

// last reports whether the job itself tells of its latest attempt, which no row of the timeline does then.
func (s shown) last() bool {
	for _, a := range s.Attempts {
		if a.Number == s.AttemptCount && a.Outcome != "refused_late" {
			return false
		}
	}
	return true
}

// ended is when the latest attempt ended; no time while it is under way.
func (s shown) ended() time.Time {
	if s.Status == jobtype.StatusRunning {
		return time.Time{}
	}
	return s.UpdatedAt
}

func row(number int, outcome string, started, ended time.Time, state string) string {
	end := "-"
	if !ended.IsZero() {
		end = ended.Format(time.RFC3339Nano)
	}
	return strings.Join([]string{strconv.Itoa(number), outcome, started.Format(time.RFC3339Nano), end, cmp.Or(state, "-")}, "\t")
}
