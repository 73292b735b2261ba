package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// gates remembers what a gate told its observer.
type gates struct {
	Observer
	open []bool
}

func (g *gates) LoadOpen(_ string, open bool) { g.open = append(g.open, open) }

func newTestGate() (*loadGate, *gates, *bytes.Buffer) {
	told, log := &gates{}, &bytes.Buffer{}
	return newLoadGate(told, slog.New(slog.NewTextHandler(log, nil))), told, log
}

// lease is one of some job.
func lease() Lease { return Lease{JobID: uuid.New()} }

// ofLoad is a fault of a load's, with names that are the operator's.
func ofLoad() *LoadError {
	e := NewLoadError(job.FailureTarget, FaultOfLoad, errors.New("secret"))
	e.SQLState, e.Place, e.Constraint = "42P01", "line 2, column 13", "prices_key"
	return e
}

func prepares(context.Context) error { return nil }

func TestClosedLoadIsLookedAtAfterAGrowingPauseAndOpensWithTheFirstJobThatGetsPast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, told, log := newTestGate()
		require.Equal(t, 8, g.limit(8, 8))
		require.True(t, g.failed(lease(), ofLoad()))
		require.True(t, g.failed(lease(), ofLoad()), "another one that ran at the same time")
		require.False(t, g.open())
		require.Zero(t, g.limit(8, 8))

		began := time.Now()
		var pauses []time.Duration
		for range 8 {
			require.False(t, g.admits(t.Context(), func(context.Context) error { return ofLoad() }))
			pauses = append(pauses, time.Since(began).Round(time.Second))
			began = time.Now()
		}
		require.Equal(t, []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 60e9, 60e9}, pauses)

		require.True(t, g.admits(t.Context(), prepares))
		require.Equal(t, 1, g.limit(8, 8), "one job tries it")
		require.Zero(t, g.limit(7, 8), "while that runs")
		require.True(t, g.failed(lease(), ofLoad()), "which did not get past")
		require.True(t, g.admits(t.Context(), prepares))
		g.passed(lease())
		require.Equal(t, 8, g.limit(8, 8))
		require.True(t, g.open())
		require.Equal(t, []bool{true, false, true}, told.open)
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("load is closed")), "said once")
		require.Contains(t, log.String(), `load=default sql_state=42P01 place="line 2, column 13" constraint=prices_key`)
		require.NotContains(t, log.String(), "secret")
	})
}

func TestStoppedWorkerDoesNotWaitForAClosedLoad(t *testing.T) {
	t.Parallel()
	g, _, _ := newTestGate()
	require.True(t, g.failed(lease(), ofLoad()))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.False(t, g.admits(stopped, prepares))
	(&Worker{load: g}).claimOnce(stopped, t.Context()) // would panic without a queue if it asked for a job
}

func TestPoisonedJobDoesNotKeepItsLoadClosedForOthers(t *testing.T) {
	t.Parallel()
	g, _, _ := newTestGate()
	poisoned := lease()
	for range poisonous - 1 {
		require.True(t, g.failed(poisoned, ofLoad()))
		g.passed(lease())
	}
	require.False(t, g.failed(poisoned, ofLoad()), "others got past, so it is its own fault")
}

func TestFaultThatEveryJobMeetsIsNoJobsOwn(t *testing.T) {
	t.Parallel()
	g, _, _ := newTestGate()
	one, other := lease(), lease()
	for range 3 * poisonous {
		require.True(t, g.failed(one, ofLoad()))
		require.True(t, g.failed(other, ofLoad()))
	}
}

func TestSuspectsAreForgottenWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	g, _, _ := newTestGate()
	for range suspected + 1 {
		g.failed(lease(), ofLoad())
	}
	require.Len(t, g.suspects, 1)
}
