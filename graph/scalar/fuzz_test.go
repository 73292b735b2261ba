package scalar_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/graph/scalar"
)

// A time that is accepted is RFC 3339 and UTC, and loses nothing on its way back.
func FuzzDateTime(f *testing.F) {
	for _, text := range []string{"", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05+00:00", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := scalar.UnmarshalDateTime(text)
		if err != nil {
			return
		}
		same, err := time.Parse(time.RFC3339Nano, text)
		require.NoError(t, err)
		require.True(t, got.Equal(same))
		written := strings.Trim(string(scalar.AppendDateTime(nil, got)), `"`)
		again, err := scalar.UnmarshalDateTime(written)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
