package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"fencepost/client"
	"fencepost/internal/command"
)

// jobCommand is what the commands of "job" share.
type jobCommand struct {
	command.Shell
	server                          string
	user, password, credentialsFile string
	timeout                         time.Duration
	allowPlaintext                  bool
	idempotencyKey, reason          string
	output                          string
}

// NewCommand makes `fencepost job` and the commands below it. Nothing is sent before one of them runs.
func NewCommand(sh command.Shell) *cobra.Command {
	j := &jobCommand{Shell: sh, timeout: time.Minute}
	cmd := &cobra.Command{
		Use:        "job",
		Short:      "Submit, follow, cancel and replay jobs on a server",
		SuggestFor: []string{"submit", "list", "get", "cancel", "replay", "lineage", "watch"},
		Long: `Submit, follow, cancel and replay jobs on a server, over its REST API.

A call that gets no answer, or is told to come back later, is repeated until --timeout. A write is repeated under the
same idempotency key, so it is never done twice.

Exit codes:
  0  done
  1  another failure
  2  the command line is wrong
  3  the credentials are wrong
  4  there is no such job
  5  refused: the job is in another state, or the key was used otherwise
  6  the input is invalid
  7  the server is unavailable, busy, or limits the rate
  8  "watch": the job failed
  9  "watch": the job was cancelled`,
		Example: `  export FENCEPOST_USER=operator FENCEPOST_PASSWORD=...
  fencepost job submit orders.json
  fencepost job list --status FAILED`,
		Args: cobra.NoArgs,
		RunE: command.ShowHelp,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&j.server, "server", "http://127.0.0.1:8080", "where the server is")
	flags.StringVar(&j.user, "user", "", "name to sign in with")
	flags.StringVar(&j.password, "password", "", "password to sign in with; on the command line, others on this machine can see it")
	flags.StringVar(&j.credentialsFile, "credentials-file", "", "file that holds user:password, and that nobody else can read")
	command.DurationFlag(flags, &j.timeout, "timeout", command.Bounds[time.Duration]{Min: time.Second, Max: 24 * time.Hour},
		"how long a call may take with all its attempts")
	flags.BoolVar(&j.allowPlaintext, "allow-plaintext", false, "send the password without TLS to another machine")
	cmd.AddCommand(j.submitCommand(), j.listCommand(), j.getCommand(), j.showCommand(), j.cancelCommand(), j.replayCommand(),
		j.lineageCommand(), j.watchCommand())
	return cmd
}

// jobAction is what one command does with the server.
type jobAction func(ctx context.Context, c *client.Client, args []string) error

func (j *jobCommand) with(act jobAction) command.Action {
	return func(cmd *cobra.Command, args []string) error {
		c, err := j.connect()
		if err != nil {
			return err
		}
		return act(cmd.Context(), c, args)
	}
}

// withJob is for the commands whose first argument is a job's id.
func (j *jobCommand) withJob(act func(context.Context, *client.Client, uuid.UUID, []string) error) command.Action {
	return j.with(func(ctx context.Context, c *client.Client, args []string) error {
		id, err := uuid.Parse(args[0])
		if err != nil {
			return command.Misused(fmt.Errorf("%q is not the id of a job: that is a UUID, as \"fencepost job list\" shows it", args[0]))
		}
		return act(ctx, c, id, args[1:])
	})
}

// connect makes the client. Nothing is sent yet.
func (j *jobCommand) connect() (*client.Client, error) {
	user, password, err := j.credentials()
	if err != nil {
		return nil, command.Misused(err)
	}
	options := []client.Option{
		client.WithBaseURL(j.server),
		client.WithCredentials(user, password),
		client.WithPatience(j.timeout),
		client.WithRetryNotice(j.noteRetry),
	}
	if j.allowPlaintext {
		options = append(options, client.WithPlaintext())
	}
	c, err := client.New(options...)
	if errors.Is(err, client.ErrPlaintext) {
		err = fmt.Errorf("%w: use https, or --allow-plaintext if something else encrypts", err)
	}
	if err != nil {
		return nil, command.Misused(fmt.Errorf("--server: %w", err))
	}
	return c, nil
}

func (j *jobCommand) noteRetry(err error, wait time.Duration) {
	fmt.Fprintf(j.Stderr, "%v; trying again in %v\n", err, wait.Round(100*time.Millisecond))
}
