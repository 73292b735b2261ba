package seed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/bench/internal/seed"
)

func TestPicksStayWithinAShare(t *testing.T) {
	t.Parallel()
	s := seed.Share{First: 1000, Count: 400, Failed: 10}
	failed := map[int64]bool{}
	for range 10_000 {
		require.True(t, s.Any() >= 1000 && s.Any() < 1400)
		row := s.Behind()
		require.True(t, row > 1100 && row < 1400, "%d", row)
		failed[s.AnyFailed()] = true
	}
	require.Len(t, failed, 10)
	for row := range failed {
		require.Zero(t, (row-1000)%40)
	}
}
