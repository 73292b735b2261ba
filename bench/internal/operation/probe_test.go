package operation

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestAProbeThatWasNotExecutedHasWaitedUntilNow(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	quick, slow, ahead := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	all := waits(
		map[uuid.UUID]time.Time{quick: began, slow: began, ahead: began},
		map[uuid.UUID]time.Time{quick: began.Add(10 * time.Millisecond), ahead: began.Add(-time.Microsecond)},
		began.Add(time.Hour))
	require.InDelta(t, 10, quantile(all, 50), 0.1)
	require.InDelta(t, time.Minute.Milliseconds(), quantile(all, 100), 100) // more cannot be told
	require.EqualValues(t, 3, all.TotalCount())
}
