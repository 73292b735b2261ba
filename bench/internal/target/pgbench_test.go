package target

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/bench/internal/seed"
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
	require.ErrorIs(t, err, ErrNoRate)
}

func TestTheRowsOfAWriteHaveNoGapInAnyWay(t *testing.T) {
	t.Parallel()
	for _, way := range []Way{{}, {Clients: 1}, {Clients: 4, Pipeline: 8}, {Clients: 8, Rows: 32}, {Clients: 32, Pipeline: 2, Rows: 4}} {
		ops, seen := int64(0), map[int64]bool{}
		for client := range way.clients() {
			for turn := range way.transactions(2048) {
				group := turn*way.clients() + client
				for i := range way.Together() {
					seen[group/seed.Users*seed.Users*way.Together()+seed.Users*i+group%seed.Users] = true
					ops++
				}
			}
		}
		require.LessOrEqual(t, ops, int64(2048), way)
		require.Len(t, seen, int(ops), way)
		require.True(t, seen[0] && seen[ops-1], way)
	}
}

func TestAPipelineHasAStatementForEachPartOfItsRows(t *testing.T) {
	t.Parallel()
	p := Pgbench{Row: "7", Way: Way{Pipeline: 2, Rows: 2}, Statements: func(_ string, ids []string) ([]string, error) {
		return []string{fmt.Sprintf("SELECT %d", len(ids))}, nil
	}}
	script, err := p.script()
	require.NoError(t, err)
	require.Contains(t, script, "\\startpipeline\nSELECT 2;\nSELECT 2;\n\\endpipeline")
	require.Contains(t, script, "\\set row3 7\n")
}
