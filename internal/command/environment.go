package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// perCall are the flags without a twin in the environment: each is about one call and no setting.
var perCall = []string{
	"batch-size", "dry-run", "help", "idempotency-key", "limit", "older-than", "password-stdin", "reason", "replay", "status", "to",
}

// Twin is the environment variable that can take a flag's place: FENCEPOST_DATABASE_URL for --database-url. A flag about one
// call, such as --dry-run, has none.
func Twin(f *pflag.Flag) (name string, found bool) {
	name = "FENCEPOST_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
	return name, !slices.Contains(perCall, f.Name)
}

// ApplyEnvironment sets the flags that the command line does not set from their twins. An empty variable is no value. Its
// errors name the variable and the flag, never the value, which may be a secret.
func ApplyEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name, found := Twin(f)
		value, _ := lookup(name)
		if f.Changed || value == "" || !found {
			return
		}
		if err := f.Value.Set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s (--%s): %w", name, f.Name, err))
		}
	})
	return errors.Join(errs...)
}

// DescribeEnvironment adds the name of each flag's twin to the help of a command and of those below it.
func DescribeEnvironment(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if name, found := Twin(f); found {
			f.Usage += " [" + name + "]"
		}
	})
	for _, child := range cmd.Commands() {
		DescribeEnvironment(child)
	}
}
