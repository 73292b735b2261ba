package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fencepost/client"
	"fencepost/internal/command"
	"fencepost/jobtype"
)

func (j *jobCommand) watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch JOB",
		Short: "Follow a job until it has ended",
		Long: `Follow a job until it has ended. On a terminal one line shows its state; elsewhere each change is a line, with
--output json an object a line. The exit code tells the end: 0 succeeded, 8 failed, 9 cancelled. The job itself is not
touched when the watching is interrupted.`,
		Example: `  fencepost job watch 0199c2f0-6a00-7000-8000-000000000001`,
		Args:    command.NamedArgs,
		RunE: j.withJob(func(ctx context.Context, c *client.Client, id uuid.UUID, _ []string) error {
			return j.watch(ctx, c, id)
		}),
		ValidArgsFunction: j.completeJob(jobtype.StatusPending, jobtype.StatusRunning),
	}
	j.outputFlag(cmd)
	return cmd
}

func (j *jobCommand) watch(ctx context.Context, c *client.Client, id uuid.UUID) error {
	report, finish := j.reporter()
	defer finish()
	var last client.Job
	for job, err := range c.Watch(ctx, id) {
		if err != nil {
			return err
		}
		if err := report(job); err != nil {
			return err
		}
		last = job
	}
	switch last.Status {
	case jobtype.StatusFailed:
		return fmt.Errorf("%w: %s", errJobFailed, last.FailureCode)
	case jobtype.StatusCancelled:
		return errJobCancelled
	default:
		return nil
	}
}

// reporter returns how to tell of a change, and what to do in the end.
func (j *jobCommand) reporter() (report func(client.Job) error, finish func()) {
	const lineStart = "\r\x1b[K" // and away with what was there
	switch {
	case j.output == outputJSON:
		return func(job client.Job) error { return j.showJSON(job, "") }, func() {}
	case isTerminal(j.Stdout):
		return func(job client.Job) error { return j.line(lineStart, job, "") }, func() { fmt.Fprintln(j.Stdout) }
	default:
		return func(job client.Job) error { return j.line("", job, "\n") }, func() {}
	}
}

func (j *jobCommand) line(before string, job client.Job, after string) error {
	_, err := fmt.Fprintf(j.Stdout, "%s%s %s, attempts: %d%s", before,
		job.UpdatedAt.Format(time.RFC3339), job.Status, job.AttemptCount, after)
	return err
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
