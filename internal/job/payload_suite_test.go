package job_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// TestJSONTestSuiteVerdicts runs the public suite's texts that every parser must accept (y_) or refuse (n_). The accepted
// ones may be any value, so each is read as the one element of a batch; only the grammar is judged, not the record. The
// suite leaves repeated names open, and the intake refuses them.
func TestJSONTestSuiteVerdicts(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/jsontestsuite/parsing.json")
	require.NoError(t, err)
	var suite map[string]string
	require.NoError(t, json.Unmarshal(file, &suite))
	require.Len(t, suite, 269)
	for name, text := range suite {
		if strings.HasPrefix(name, "n_") {
			assert.Equal(t, job.CodeInvalidJSON, verdict(text), name)
			continue
		}
		repeated := strings.HasPrefix(name, "y_object_duplicated_key")
		assert.Equal(t, repeated, verdict("["+text+"]") == job.CodeInvalidJSON, name)
	}
}
