package main

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"fencepost/internal/postgres/schema"
)

func TestMigratorSaysForWhomItWaits(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&stderr)
	migrator(cmd, "postgres://").Waiting(schema.Holder{ProcessID: 7, Role: "analyst", Application: "psql"})
	require.Equal(t, "Waiting for process 7 of role \"analyst\", application \"psql\".\n", stderr.String())
}
