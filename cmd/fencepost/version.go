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

// release is the tag of a released program. The linker sets it (scripts/build.sh).
var release string

// version is the tag or revision that the program was built from: a release's own, else what the Go tool recorded.
func version() string {
	info, _ := debug.ReadBuildInfo() // always there in a program built with modules
	return cmp.Or(release, info.Main.Version, "(devel)")
}
