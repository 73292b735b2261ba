package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryCommandHasAManualPage(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	o := invoke(t, nil, nil, "man", directory)
	require.Equal(t, 0, o.code, o.stderr)
	for _, page := range []string{"fencepost", "fencepost-serve", "fencepost-job", "fencepost-job-submit", "fencepost-users-add"} {
		text, err := os.ReadFile(filepath.Join(directory, page+".1"))
		require.NoError(t, err)
		require.Contains(t, string(text), ".SH EXAMPLE")
	}
	require.Contains(t, refused(t, "man", filepath.Join(directory, "missing")), "no such file")
}
