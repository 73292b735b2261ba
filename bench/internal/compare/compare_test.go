package compare_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
)

// script is a target that plays its samples, and writes down what is done with it.
type script struct {
	name    string
	samples []load.Sample
	journal *[]string
}

func (s *script) Name() string { return s.name }

func (s *script) Prepare(context.Context, int64) error {
	*s.journal = append(*s.journal, s.name)
	return nil
}

func (s *script) Run(context.Context, load.Bound) (load.Sample, error) {
	if len(s.samples) == 0 {
		return load.Sample{}, errors.New("the script is at its end")
	}
	sample := s.samples[0]
	s.samples = s.samples[1:]
	return sample, nil
}

func (s *script) play(rates ...int64) *script {
	for _, r := range rates {
		s.samples = append(s.samples, load.Sample{Ops: r, Elapsed: time.Second})
	}
	return s
}

func noCheckpoint(context.Context) error { return nil }

func TestTurnsGoForthAndBackAndRatiosAreTakenWithinAPass(t *testing.T) {
	t.Parallel()
	var journal []string
	floor := (&script{name: "floor", journal: &journal}).play(100, 1000, 200)
	ours := (&script{name: "ours", journal: &journal}).play(50, 600, 140)
	c := compare.Comparison{
		Name: "read", Targets: []compare.Target{floor, ours},
		Goals: []compare.Goal{{Name: "ours / floor", Over: "ours", Under: "floor", Must: 0.55, Aim: 0.65}},
	}
	r, err := c.Run(t.Context(), compare.Plan{Passes: 3, Measured: load.Bound{Duration: time.Second}}, noCheckpoint)
	require.NoError(t, err)
	require.Equal(t, []string{"floor", "ours", "ours", "floor", "floor", "ours"}, journal)
	require.Equal(t, compare.Range{Median: 0.6, Min: 0.5, Max: 0.7}, r.Goals[0].Measured)
	require.True(t, r.Goals[0].ReachesMust())
	require.False(t, r.Goals[0].ReachesAim())
	require.Equal(t, compare.Range{Median: 200, Min: 100, Max: 1000}, r.Rates["floor"])
	require.Empty(t, r.Void)
}

func TestOneMissMakesAComparisonVoid(t *testing.T) {
	t.Parallel()
	var journal []string
	ours := &script{name: "ours", journal: &journal, samples: []load.Sample{{Ops: 9, Misses: 1, Elapsed: time.Second, FirstError: "no job"}}}
	c := compare.Comparison{Name: "read", Targets: []compare.Target{ours}}
	r, err := c.Run(t.Context(), compare.Plan{Passes: 1, Measured: load.Bound{Ops: 10}}, noCheckpoint)
	require.NoError(t, err)
	require.Equal(t, "ours had 0 errors and 1 misses: no job", r.Void)
}

func TestATimeIsJudgedFromAbove(t *testing.T) {
	t.Parallel()
	v := compare.AtMost("latency", "ms", 50, 10, 12, 14)
	require.InDelta(t, 13, v.Measured.Median, 1e-9)
	require.True(t, v.ReachesMust())
	require.False(t, v.ReachesAim())
}

func TestALimitIsWhatTwoTargetsAllowTogether(t *testing.T) {
	t.Parallel()
	var journal []string
	c := compare.Comparison{Name: "read", Targets: []compare.Target{
		(&script{name: "database", journal: &journal}).play(300), (&script{name: "memory", journal: &journal}).play(150),
		(&script{name: "ours", journal: &journal}).play(50),
	}, Goals: []compare.Goal{{Name: "ours / limit", Over: "ours", Under: "database", With: "memory"}}}
	r, err := c.Run(t.Context(), compare.Plan{Passes: 1, Measured: load.Bound{Ops: 1}}, noCheckpoint)
	require.NoError(t, err)
	require.InDelta(t, 0.5, r.Goals[0].Measured.Median, 1e-9)
}
