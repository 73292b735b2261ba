package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  fencepost version",
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			cmd.Printf("fencepost %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}

// version is the tag or revision that the program was built from, as the Go tool recorded it.
func version() string {
	info, _ := debug.ReadBuildInfo() // always there in a program built with modules
	return cmp.Or(info.Main.Version, "(devel)")
}
