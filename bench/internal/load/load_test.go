package load_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/bench/internal/load"
)

func TestClosedMakesEachCallOnce(t *testing.T) {
	t.Parallel()
	seen := make([]atomic.Int64, 1000)
	sample := load.Closed(t.Context(), 8, load.Bound{Ops: 1000}, func(_ int, number int64) error {
		seen[number].Add(1)
		return nil
	})
	for number := range seen {
		require.EqualValues(t, 1, seen[number].Load(), number)
	}
	require.EqualValues(t, 1000, sample.Ops)
}

func TestClosedCountsErrorsAndMisses(t *testing.T) {
	t.Parallel()
	sample := load.Closed(t.Context(), 1, load.Bound{Ops: 4}, func(_ int, number int64) error {
		return []error{nil, load.ErrMiss, errors.New("refused"), nil}[number]
	})
	require.EqualValues(t, 2, sample.Ops)
	require.EqualValues(t, 1, sample.Misses)
	require.EqualValues(t, 1, sample.Errors)
	require.Equal(t, load.ErrMiss.Error(), sample.FirstError)
}

func TestOpenLatencyCountsFromTheMomentThatACallWasDue(t *testing.T) {
	t.Parallel()
	const stall = 200 * time.Millisecond
	_, latency := load.Open(t.Context(), 1, 1000, load.Bound{Ops: 100}, func(_ int, number int64) error {
		if number == 0 {
			<-time.After(stall)
		}
		return nil
	})
	// All hundred calls were due within the stall of the first, so all of them have waited for about half of it or more.
	require.Greater(t, latency.ValueAtQuantile(1), (stall/2).Microseconds()*9/10)
	require.EqualValues(t, 100, latency.TotalCount())
}
