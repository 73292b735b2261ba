package rest_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client that is generated from the document, in a module of its own, submits, cancels, replays and reads.
func TestAClientGeneratedFromTheDocumentWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, arguments := range [][]string{{"generate"}, {"run", ".", w.server.URL, "alice" + canary, password}} {
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir = "generatedclient"
		output, err := command.CombinedOutput()
		require.NoError(t, err, string(output))
	}
}
