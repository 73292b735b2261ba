package command

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestFlagWinsOverEnvironmentAndEnvironmentOverDefault(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	given := flags.String("from-flag", "default", "")
	twin := flags.String("from-environment", "default", "")
	empty := flags.String("from-default", "default", "")
	to := flags.String("to", "default", "")
	require.NoError(t, flags.Parse([]string{"--from-flag", "flag"}))
	e := map[string]string{
		"FENCEPOST_FROM_FLAG":        "environment",
		"FENCEPOST_FROM_ENVIRONMENT": "environment",
		"FENCEPOST_FROM_DEFAULT":     "",
		"FENCEPOST_TO":               "environment",
	}
	lookup := func(name string) (string, bool) { value, set := e[name]; return value, set }
	require.NoError(t, ApplyEnvironment(flags, lookup))

	require.Equal(t, "flag", *given)
	require.Equal(t, "environment", *twin)
	require.Equal(t, "default", *empty)
	require.Equal(t, "default", *to, "what is about one call has no twin")
}

func TestBoundsAreWithinTheRange(t *testing.T) {
	t.Parallel()
	var n int
	v := ranged[int]{&n, Bounds[int]{1, 3}, "int", func(s string) (int, error) { return len(s), nil }}
	require.NoError(t, v.Set("*"))
	require.Equal(t, 1, n)
	require.NoError(t, v.Set("***"))
	require.Equal(t, 3, n)
}
