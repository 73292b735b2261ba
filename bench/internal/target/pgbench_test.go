package target

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSteadyTimeLeavesOutTheFirstAndTheLastTenth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var first, second strings.Builder
	at := int64(0)
	for i := range int64(100) {
		at += map[bool]int64{true: 500_000, false: 1000}[i < 10 || i >= 91] // slow at both ends
		fmt.Fprintf(map[bool]*strings.Builder{true: &first, false: &second}[i%2 == 0], "%d %d 1 0 %d %d\n", i%2, i/2, at/1_000_000, at%1_000_000)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.1"), []byte(first.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.1.1"), []byte(second.String()), 0o600))
	took, err := steadyTime(dir)
	require.NoError(t, err)
	require.Equal(t, 100*time.Millisecond, took)
}

func TestReportOfPgbenchIsRead(t *testing.T) {
	t.Parallel()
	sample, err := parseReport("number of transactions actually processed: 1600/1600\nnumber of failed transactions: 2 (0.1%)\n" +
		"latency average = 1 ms\ntps = 800.000000 (without initial connection time)\n")
	require.NoError(t, err)
	require.EqualValues(t, 1600, sample.Ops)
	require.EqualValues(t, 2, sample.Errors)
	require.InDelta(t, 800, sample.Rate(), 1e-6)
	_, err = parseReport("connection refused")
	require.ErrorContains(t, err, "no rate")
}
