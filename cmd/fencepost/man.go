package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"fencepost/internal/command"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the manual pages",
		Long: `Write a manual page of each command to a directory. Their date is today, or that of SOURCE_DATE_EPOCH, so that a
build can be repeated.`,
		Example: `  fencepost man /usr/local/share/man/man1
  man fencepost-job-submit`,
		Args: command.NamedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.Root().DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "Fencepost", Manual: "Fencepost"}
			return doc.GenManTree(cmd.Root(), header, args[0])
		},
	}
}
