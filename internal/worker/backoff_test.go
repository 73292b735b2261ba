package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBackoffDoublesWithEachAttemptUpToTheBound(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]time.Duration{
		1:       time.Second,
		2:       2 * time.Second,
		5:       16 * time.Second,
		10:      512 * time.Second,
		11:      maxRetryDelay,
		1 << 30: maxRetryDelay,
	} {
		require.Equal(t, want, backoff(time.Second, attempts), "after %d attempts", attempts)
	}
	require.Equal(t, maxRetryDelay, backoff(time.Hour, 1))
}

func TestJitterKeepsAtLeastHalfOfTheDelay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		longest := time.Duration(rapid.Int64Range(1, int64(maxRetryDelay)).Draw(t, "longest"))
		delay := jitter(longest)
		require.GreaterOrEqual(t, delay, longest/2)
		require.LessOrEqual(t, delay, longest)
	})
}

func TestJitterSpreadsEqualDelays(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for range 100 {
		seen[jitter(time.Hour)] = true
	}
	require.Greater(t, len(seen), 1)
}
