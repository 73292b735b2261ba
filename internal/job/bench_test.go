package job_test

import (
	"fmt"
	"strings"
	"testing"

	"fencepost/internal/job"
)

// BenchmarkParsePayload reads a batch of the default greatest size.
func BenchmarkParsePayload(b *testing.B) {
	records := make([]string, 1000)
	for i := range records {
		records[i] = fmt.Sprintf(`{"id":"record-%d","name":"%s","amount":%d.25,"tags":["a","b"],"nested":{"ok":true}}`,
			i, strings.Repeat("x", 900), i)
	}
	text := []byte("[" + strings.Join(records, ",") + "]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := job.ParsePayload(text, job.Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: len(records)}); err != nil {
			b.Fatal(err)
		}
	}
}
