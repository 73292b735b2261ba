package main

import (
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

//nolint:paralleltest // the settings are the whole process's
func TestServerLetsGarbageGatherUnlessTheRuntimesVariablesSayOtherwise(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })

	collectRarely(runtimeVariables("GOGC", "GOMEMLIMIT"), 1<<20, 512)
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	require.Equal(t, 100, debug.SetGCPercent(100))

	collectRarely(runtimeVariables(), 1<<20, 512)
	require.Equal(t, int64((96+64+32)<<20), debug.SetMemoryLimit(-1))
	require.Equal(t, 400, debug.SetGCPercent(100))
}

// runtimeVariables has the named variables.
func runtimeVariables(names ...string) func(string) (string, bool) {
	return func(name string) (string, bool) { return "", slices.Contains(names, name) }
}
