package server

import (
	"context"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

//nolint:paralleltest // the settings are the whole process's
func TestServerLetsGarbageGatherUnlessTheRuntimesVariablesSayOtherwise(t *testing.T) {
	percent, limit := restoreGarbageSettings(t)
	bound := collectRarely(runtimeVariables("GOGC", "GOMEMLIMIT"), 1<<20)
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	require.Equal(t, percent, debug.SetGCPercent(percent))
	bound.follow(t.Context(), nil) // returns, and counts nothing

	require.EqualValues(t, (96+64)<<20, collectRarely(runtimeVariables(), 1<<20))
	require.EqualValues(t, (96+64)<<20, debug.SetMemoryLimit(-1))
	require.Equal(t, 400, debug.SetGCPercent(percent))
}

//nolint:paralleltest // the settings are the whole process's
func TestOpenStreamsGetMemoryForAsLongAsTheyAreOpen(t *testing.T) {
	restoreGarbageSettings(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		streams := make(chan int)
		go func() {
			defer close(streams)
			memoryBound(96<<20).follow(ctx, func() int { return <-streams })
		}()
		for _, open := range []int{512, 1024, 0} {
			streams <- open
			synctest.Wait()
			require.EqualValues(t, 96<<20+open*64<<10, debug.SetMemoryLimit(-1))
		}
		began := time.Now()
		stop()
		<-streams
		require.Zero(t, time.Since(began))
	})
}

// restoreGarbageSettings gives the process its settings back at the end of a test. It returns them.
func restoreGarbageSettings(t *testing.T) (percent int, limit int64) {
	t.Helper()
	limit, percent = debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	return percent, limit
}

// runtimeVariables has the named variables.
func runtimeVariables(names ...string) func(string) (string, bool) {
	return func(name string) (string, bool) { return "", slices.Contains(names, name) }
}
