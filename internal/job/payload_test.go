package job_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// testLimits allow three records.
var testLimits = job.Limits{MaxPayloadBytes: 64 << 20, MaxBatchRecords: 3}

func TestAnAcceptedBatchIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	text := []byte(" [ {\"id\" : \"a\", \"n\": 1.50e+0},\n\t{\"id\":\"\\u0062\"} ]\r\n")
	payload, err := job.ParsePayload(text, testLimits)
	require.NoError(t, err)
	assert.Equal(t, job.Payload{Bytes: text, Digest: sha256.Sum256(text), RecordCount: 2}, payload)
}

func TestAnEmptyArrayIsABatchOfNoRecords(t *testing.T) {
	t.Parallel()
	payload, err := job.ParsePayload([]byte("[]"), job.Limits{})
	require.NoError(t, err)
	assert.Zero(t, payload.RecordCount)
}

func TestIntakeVerdicts(t *testing.T) {
	t.Parallel()
	for code, texts := range batchesByVerdict() {
		for _, text := range texts {
			assert.Equal(t, code, verdict(text), "%.60q", text)
		}
	}
}

func verdict(text string) job.Code {
	_, err := job.ParsePayload([]byte(text), testLimits)
	if err == nil {
		return ""
	}
	problem, _ := errors.AsType[*job.Problem](err)
	return problem.Code
}

// TestTheWorstFaultIsTold: a defect of the text comes first wherever it stands, then the size, then the records.
func TestTheWorstFaultIsTold(t *testing.T) {
	t.Parallel()
	assert.Equal(t, job.CodeInvalidRecord, verdict(`[1,{"id":"\u0000"},1e999999]`))
	assert.Equal(t, job.CodeBatchTooLarge, verdict(`[1,{"id":"\u0000"},1e999999,4]`))
	assert.Equal(t, job.CodeInvalidJSON, verdict(`[1,{"id":"\u0000"},1e999999,4,]`))
	assert.Equal(t, job.CodeInvalidJSON, verdict(`[1,2,3,4]5`))
	assert.Equal(t, job.CodeInvalidJSON, verdict("[1,2,3,4,\"\xff\"]"))
	assert.Equal(t, job.CodeInvalidJSON, verdict(`[1,2,3,4,{"a":1,"a":1}]`))
}

func TestARecordIDIsTrimmedVisibleAndShort(t *testing.T) {
	t.Parallel()
	for code, ids := range map[job.Code][]string{
		"": {
			"a", " a b ", "\n\u2028a\u0085", "日本", "e\u0301", "\U0001F600", "\ufffd", "\ue000",
			strings.Repeat("😀", 256), strings.Repeat(" ", 300) + strings.Repeat("a", 256) + "\t",
		},
		job.CodeInvalidRecord: {
			"", " ", "\t\n\u00a0\u3000", "a\tb", "a\x7f", "a\u0080b", "a\u00adb", "a\u200db", "\ufeffa", "\u200b",
			"a\u202e", "a\u2028b", "a\u2029b", "a\U000E0001", strings.Repeat("a", 257),
		},
	} {
		for _, id := range ids {
			batch, err := json.Marshal([]map[string]string{{"id": id}})
			require.NoError(t, err)
			assert.Equal(t, code, verdict(string(batch)), "%.40q", id)
		}
	}
}

func TestNumbersWithinNumericAreAccepted(t *testing.T) {
	t.Parallel()
	for number, held := range numbers() {
		assert.Equal(t, held, verdict(`[{"id":"a","n":`+number+`}]`) == "", "%.40s", number)
	}
}
