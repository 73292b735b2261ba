package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"fencepost/client"
	"fencepost/internal/command"
)

const (
	// mostCompletions is how many jobs the shell offers: the newest.
	mostCompletions = 30
	// completionTimeout is how long a person waits for the Tab key.
	completionTimeout = 2 * time.Second
)

// completeJob lets the shell offer the ids of the newest jobs in some statuses, or in any, with their status. Whatever
// goes wrong, it offers nothing. The second argument of a command is a file.
func (j *jobCommand) completeJob(statuses ...client.Status) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if command.ApplyEnvironment(cmd.Flags(), j.LookupEnv) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		quiet := *j
		quiet.Stderr, quiet.timeout = io.Discard, completionTimeout
		return quiet.offer(cmd.Context(), statuses), cobra.ShellCompDirectiveNoFileComp
	}
}

func (j *jobCommand) offer(ctx context.Context, statuses []client.Status) (offered []cobra.Completion) {
	c, err := j.connect()
	if err != nil {
		return nil
	}
	jobs, _ := j.collect(ctx, c, client.Filter{Statuses: statuses, PageSize: mostCompletions + 1}, mostCompletions)
	for _, job := range jobs {
		offered = append(offered, cobra.CompletionWithDesc(job.ID.String(), string(job.Status)))
	}
	return offered
}

func completeFlag(cmd *cobra.Command, flag string, values []string) {
	// The only error is a flag that is not there, or has this already.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
