package rest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProvenanceIsRDFThatKeepsTheConstraintsOfPROV reads a lineage of branches with the jsonld package. It fails without it:
// `npm ci` in rest/conformance installs it.
func TestProvenanceIsRDFThatKeepsTheConstraintsOfPROV(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.cancelled()
	for _, source := range []string{root, w.cancelledReplay(root, "a"), w.cancelledReplay(w.cancelledReplay(root, "b"), "c")} {
		w.replay(source, batch, quoted("last of "+idIn(source))).require(202)
	}
	a := w.get(root + "/provenance").require(200)
	// The agent and the root are one statement each, and each of the six replays is seven.
	require.Equal(t, "44 statements\n", judged(t, a.body))

	unmapped := strings.Replace(a.body, `"prov:used":[`, `"used":[`, 1)
	require.NotEqual(t, unmapped, a.body)
	require.Contains(t, judged(t, unmapped), "Safe mode validation error", "the program would notice")
}

func (w *world) cancelledReplay(source, key string) string {
	w.Helper()
	path := w.replay(source, batch, quoted(key)).require(202).header.Get("Location")
	w.cancel(path, quoted(key)).require(200)
	return path
}

// judged is what the program prints about a document.
func judged(t *testing.T, document string) string {
	t.Helper()
	_, err := os.Stat("conformance/node_modules")
	require.NoError(t, err, "run `npm ci --ignore-scripts` in rest/conformance first")
	command := exec.CommandContext(t.Context(), "node", "provenance.mjs")
	command.Dir = "conformance"
	command.Stdin = strings.NewReader(document)
	output, _ := command.CombinedOutput()
	return string(output)
}
