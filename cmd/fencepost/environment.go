package main

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
	"batch-size", "dry-run", "help", "idempotency-key", "limit", "older-than", "password-stdin", "replay", "status", "to",
}

// environmentName is a flag's twin: --database-url is FENCEPOST_DATABASE_URL.
func environmentName(f *pflag.Flag) string {
	return "FENCEPOST_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// applyEnvironment sets the flags that the command line does not set from their twins. An empty variable is no value. Its
// errors name the variable and the flag, never the value, which may be a secret.
func applyEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		value, _ := lookup(environmentName(f))
		if f.Changed || value == "" || slices.Contains(perCall, f.Name) {
			return
		}
		if err := f.Value.Set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s (--%s): %w", environmentName(f), f.Name, err))
		}
	})
	return errors.Join(errs...)
}

// describeEnvironment adds the name of each flag's twin to its help.
func describeEnvironment(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(perCall, f.Name) {
			f.Usage += " [" + environmentName(f) + "]"
		}
	})
	for _, child := range cmd.Commands() {
		describeEnvironment(child)
	}
}
