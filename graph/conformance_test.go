package graph_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// node runs a program of the conformance folder. Missing programs fail the test: `npm ci` in that folder installs them.
func node(t *testing.T, arguments ...string) string {
	t.Helper()
	_, err := os.Stat("conformance/node_modules")
	require.NoError(t, err, "run `npm ci --ignore-scripts` in graph/conformance first")
	command := exec.CommandContext(t.Context(), "node", arguments...)
	command.Dir = "conformance"
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	return string(output)
}

func TestAllAuditsOfGraphQLOverHTTPPass(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	require.Contains(t, node(t, "audit.mjs", s.url), "61 of 61 audits passed")
}
