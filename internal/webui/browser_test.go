package webui_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestABrowserShowsThePages runs browsertest against a whole server. It also keeps pictures of the pages in the directory that
// FENCEPOST_TEST_SCREENSHOTS names, if that is set.
func TestABrowserShowsThePages(t *testing.T) {
	t.Parallel()
	_, err := os.Stat("browsertest/node_modules")
	require.NoError(t, err, "run `npm ci --ignore-scripts` in internal/webui/browsertest first")
	chromium, err := exec.LookPath("chromium")
	require.NoError(t, err, "install chromium first")

	s := newServer(t)
	jobs := map[string]string{"treeLeaf": s.wideTree(), "single": s.succeeded()}
	chain := s.chain()
	jobs["family"], jobs["pending"] = s.everyStatus()
	jobs["chainEnd"] = s.replay(chain)
	setting, err := json.Marshal(map[string]any{
		"url": s.url, "user": user, "password": password, "batch": batch, "chromium": chromium, "jobs": jobs,
		"screenshots": os.Getenv("FENCEPOST_TEST_SCREENSHOTS"),
	})
	require.NoError(t, err)

	command := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=spec", "--test-concurrency=1")
	command.Dir = "browsertest"
	command.Env = append(os.Environ(), "SETTING="+string(setting))
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)
}
