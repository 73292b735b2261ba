package notice

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Anyone may notify the channel. A line that is taken for a notice has a status and two ids, and nothing behind them.
func FuzzNotice(f *testing.F) {
	const id = "0197c6e5-7b1f-7c3a-9d2e-4f5a6b7c8d9e"
	for _, line := range []string{"", "PENDING", "PENDING " + id, "CANCELLED " + id + " " + id, "DONE " + id + " " + id, "FAILED " + id + " " + id + " x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		notice, ok := parseNotice(line)
		if ok {
			require.True(t, notice.Status.Valid())
			require.Contains(t, line, string(notice.Status)+" ")
		}
	})
}
