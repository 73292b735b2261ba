package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fencepost/internal/job"
)

func TestTimesAreToldInUTCWithSixDigits(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"at 2026-01-31T12:00:00.000000Z":  noon,
		"at 2026-01-31T12:00:00.000001Z":  noon.Add(time.Microsecond),
		"at 2026-01-31T12:00:00.999999Z":  noon.Add(time.Second - 1),
		"at 2026-01-31T11:59:59.120000Z":  noon.Add(-880 * time.Millisecond).In(time.FixedZone("east", 3600)),
		"at 0001-01-01T00:00:00.000000Z":  {},
		"at 12026-01-31T12:00:00.000000Z": noon.AddDate(10_000, 0, 0),
	} {
		assert.Equal(t, want, string(job.AppendTime([]byte("at "), at)))
	}
}
