package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"fencepost/client"
	"fencepost/internal/command"
	"fencepost/jobtype"
)

func (j *jobCommand) submitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit FILE|-",
		Short: "Submit a batch of records as a job",
		Long: `Submit a batch of records as a job. The file, or standard input, holds a JSON array of objects, each with a
string "id". It is kept byte for byte; a replay needs the same bytes again.`,
		Example: `  fencepost job submit orders.json
  fencepost job submit - --idempotency-key orders-2026-11-29 <orders.json
  fencepost job watch "$(fencepost job submit orders.json --output id)"`,
		Args: command.NamedArgs,
		RunE: j.with(func(ctx context.Context, c *client.Client, args []string) error {
			batch, err := j.readBatch(args[0])
			if err != nil {
				return err
			}
			accepted, err := c.Submit(ctx, j.key(), batch)
			if err != nil {
				return explain(err)
			}
			return j.showAccepted(accepted)
		}),
	}
	j.keyFlag(cmd)
	j.outputFlag(cmd, outputID)
	return cmd
}

func (j *jobCommand) replayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay JOB FILE|-",
		Short: "Make a new job from a failed or cancelled one",
		Long: `Make a new job from a failed or cancelled one, which itself stays as it is. The file, or standard input, holds
the same bytes that the job was submitted with.`,
		Example: `  fencepost job replay 0199c2f0-6a00-7000-8000-000000000001 orders.json`,
		Args:    command.NamedArgs,
		RunE: j.withJob(func(ctx context.Context, c *client.Client, source uuid.UUID, args []string) error {
			batch, err := j.readBatch(args[0])
			if err != nil {
				return err
			}
			accepted, err := c.Replay(ctx, source, j.key(), batch)
			if err != nil {
				return explain(err)
			}
			return j.showAccepted(accepted)
		}),
		ValidArgsFunction: j.completeJob(jobtype.StatusFailed, jobtype.StatusCancelled),
	}
	j.keyFlag(cmd)
	j.outputFlag(cmd, outputID)
	return cmd
}

func (j *jobCommand) cancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel JOB",
		Short: "Cancel a job that has not ended",
		Long:  `Cancel a job that is pending or running: none of its effects remain. When it ended first, that stands.`,
		Example: `  fencepost job cancel 0199c2f0-6a00-7000-8000-000000000001
  fencepost job cancel 0199c2f0-6a00-7000-8000-000000000001 --reason wrong_batch
  fencepost job list --status PENDING --output id | xargs -n1 fencepost job cancel`,
		Args: command.NamedArgs,
		RunE: j.withJob(func(ctx context.Context, c *client.Client, id uuid.UUID, _ []string) error {
			cancelled, err := c.Cancel(ctx, id, j.key(), client.WithReason(j.reason))
			if err != nil {
				return err
			}
			j.noteReplayed(cancelled.Replayed)
			return j.showJobs(cancelled, cancelled.Job)
		}),
		ValidArgsFunction: j.completeJob(jobtype.StatusPending, jobtype.StatusRunning),
	}
	j.keyFlag(cmd)
	cmd.Flags().StringVar(&j.reason, "reason", "", "why, as a code that the server's operator has listed")
	j.outputFlag(cmd, outputID)
	return cmd
}

func (j *jobCommand) keyFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&j.idempotencyKey, "idempotency-key", "",
		"what this write is known by: repeated under the same key, it has no second effect (default: a new one, printed)")
}

// key is the one that was given, or a new one. That is printed before it is used, so that whoever is interrupted can
// try again with it.
func (j *jobCommand) key() string {
	if j.idempotencyKey != "" {
		return j.idempotencyKey
	}
	key := client.NewKey()
	fmt.Fprintf(j.Stderr, "To try this again safely, add: --idempotency-key %s\n", key)
	return key
}

func (j *jobCommand) readBatch(path string) (batch []byte, err error) {
	if path == "-" {
		batch, err = io.ReadAll(j.Stdin)
	} else {
		batch, err = os.ReadFile(path)
	}
	return batch, command.Misused(err)
}
