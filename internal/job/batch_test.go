package job

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestABatchOfMoreTokensThanJSONBHoldsIsRefused(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 11, readBatch([]byte(`[{"id":"a","x":[0,0]}]`)).tokens, "brackets, names and values")
	limits := Limits{MaxPayloadBytes: 1}
	assert.Nil(t, (&batchReader{tokens: 1 << 23}).verdict(limits))
	assert.Equal(t, &Problem{Code: CodeInvalidRecord}, (&batchReader{tokens: 1<<23 + 1}).verdict(limits))
}

func TestABatchIsNoLongerThanSixteenTimesTheLongestPayloadWhenItIsWrittenOut(t *testing.T) {
	t.Parallel()
	verdict := func(written, longest int) *Problem {
		return (&batchReader{written: written}).verdict(Limits{MaxPayloadBytes: longest})
	}
	assert.Nil(t, verdict(16_000, 1000))
	assert.Equal(t, Refuse(CodePayloadTooLarge), verdict(16_001, 1000))
	assert.Nil(t, verdict(256<<20, 64<<20))
	assert.Equal(t, Refuse(CodePayloadTooLarge), verdict(256<<20+1, 64<<20))

	numbers := `[{"id":"a","n":[` + strings.Repeat("1e999,", 19_999) + `1e999]}]`
	_, err := ParsePayload([]byte(numbers), Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: 1})
	assert.Equal(t, Refuse(CodePayloadTooLarge), err, "120 KB that would be 20 MB")
}
