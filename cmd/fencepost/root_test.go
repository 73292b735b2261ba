package main

import (
	"strings"
	"testing"

	"fencepost/internal/command"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestBadTwinIsRefusedByNameWithoutItsValue(t *testing.T) {
	t.Parallel()
	o := invoke(t, env{"FENCEPOST_WORKERS": "secret", "FENCEPOST_LOG_FORMAT": "secret"}, nil, "serve")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.stderr, "FENCEPOST_WORKERS (--workers): must be from 0 to 256")
	require.Contains(t, o.stderr, "FENCEPOST_LOG_FORMAT (--log-format): must be one of text, json")
	require.NotContains(t, o.stderr, "secret")
}

func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.True(t, cmd.HasSubCommands() || cmd.HasExample(), "%s has an example", cmd.CommandPath())
		o := invoke(t, nil, nil, append(path(cmd), "--help")...)
		require.Equal(t, 0, o.code)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			require.Contains(t, o.stdout, "--"+f.Name)
			if twin, found := command.Twin(f); found {
				require.Contains(t, o.stdout, "["+twin+"]")
			}
		})
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(newRootCommand(command.Shell{}))
}

func path(cmd *cobra.Command) []string {
	if !cmd.HasParent() {
		return nil
	}
	return append(path(cmd.Parent()), cmd.Name())
}

func TestCommandLineThatIsNotUnderstoodPointsToItsHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, message, help string }{
		{"swerve", "unknown command", "fencepost"},
		{"cancel 42", "Did you mean this?\n\tjob", "fencepost"},
		{"serve --prot 1", "--prot", "fencepost serve"},
		{"serve twice", "twice", "fencepost serve"},
		{"users add", "write it as: fencepost users add NAME", "fencepost users add"},
	} {
		message := refused(t, strings.Fields(c.line)...)
		require.Contains(t, message, c.message)
		require.Contains(t, message, "\nSee \""+c.help+" --help\".\n")
	}
	require.NotContains(t, refused(t, "migrate", "up"), "See ")
}

func TestVersionNamesTheProgramAndThePlatform(t *testing.T) {
	t.Parallel()
	o := invoke(t, nil, nil, "version")
	require.Equal(t, 0, o.code)
	require.Regexp(t, `^fencepost \S+ \(go\S+, \w+/\w+\)\n$`, o.stdout)
}
