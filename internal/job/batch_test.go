package job

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestABatchOfMoreTokensThanJSONBHoldsIsRefused(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 11, readBatch([]byte(`[{"id":"a","x":[0,0]}]`)).tokens, "brackets, names and values")
	assert.Equal(t, Code(""), (&batchReader{tokens: 1 << 23}).verdict(Limits{}))
	assert.Equal(t, CodeInvalidRecord, (&batchReader{tokens: 1<<23 + 1}).verdict(Limits{}))
}
