package job_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/jobtype"
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
	payload, err := job.ParsePayload([]byte("[]"), job.Limits{MaxPayloadBytes: 2})
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

func TestANumberHasAtMostAThousandDigitsWhenItIsWrittenOut(t *testing.T) {
	t.Parallel()
	for number, held := range numbers() {
		assert.Equal(t, held, verdict(`[{"id":"a","n":`+number+`}]`) == "", "%.40s", number)
	}
}

// problem is the refusal of a batch.
func problem(t *testing.T, text string) *job.Problem {
	t.Helper()
	_, err := job.ParsePayload([]byte(text), job.Limits{MaxPayloadBytes: 64 << 20, MaxBatchRecords: 1000})
	p, refused := errors.AsType[*job.Problem](err)
	require.True(t, refused, "%.60q", text)
	return p
}

func TestAnInvalidRecordIsNamedByItsPlaceAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	deep := `{"id":"a","x":` + nested(63) + `}`
	for code, record := range map[jobtype.RecordErrorCode]string{
		jobtype.RecordMissingID:         `{"x":1}`,
		jobtype.RecordIDNotString:       `{"id":{"id":"a"}}`,
		jobtype.RecordIDBlank:           `{"id":" \u2003"}`,
		jobtype.RecordIDTooLong:         `{"id":"` + strings.Repeat("a", 257) + `"}`,
		jobtype.RecordIDUnprintable:     `{"id":"a\u200db"}`,
		jobtype.RecordNotAnObject:       `[1]`,
		jobtype.RecordNumberTooLarge:    `{"id":"a","secret":[{"n":1e1000}]}`,
		jobtype.RecordStringNotStorable: `{"id":"a","secret":[{"n":"\ud800"}]}`,
		jobtype.RecordDuplicateMember:   `{"id":"a","secret":[{"n":1,"n":2}]}`,
		jobtype.RecordTooDeep:           deep,
	} {
		pointer, want := "/2", job.CodeInvalidRecord
		switch code { //nolint:exhaustive // the others are the usual ones
		case jobtype.RecordMissingID, jobtype.RecordIDNotString, jobtype.RecordIDBlank, jobtype.RecordIDTooLong, jobtype.RecordIDUnprintable:
			pointer = "/2/id"
		case jobtype.RecordDuplicateMember, jobtype.RecordTooDeep:
			want = job.CodeInvalidJSON
		}
		found := problem(t, `[{"id":"a"},{"id":"a"},`+record+`,{"id":"a"}]`)
		assert.Equal(t, want, found.Code, code)
		assert.Equal(t, []jobtype.RecordError{{Pointer: pointer, Code: code}}, found.Errors)
		assert.Contains(t, jobtype.RecordErrorCodes, code)
	}
	assert.Len(t, jobtype.RecordErrorCodes, 10)
}

func TestOfManyInvalidRecordsTheFirstTwentyAreNamedInTheirOrder(t *testing.T) {
	t.Parallel()
	found := problem(t, `[{"id":"a"},{"id":1,"n":[1e1000,1e1000],"s":"\u0000"}`+strings.Repeat(`,{"x":"secret"}`, 730)+`]`)
	want := []jobtype.RecordError{
		{Pointer: "/1", Code: jobtype.RecordNumberTooLarge},
		{Pointer: "/1", Code: jobtype.RecordStringNotStorable},
		{Pointer: "/1/id", Code: jobtype.RecordIDNotString},
	}
	for i := 2; len(want) < 20; i++ {
		want = append(want, jobtype.RecordError{Pointer: fmt.Sprintf("/%d/id", i), Code: jobtype.RecordMissingID})
	}
	assert.Equal(t, want, found.Errors)
	assert.Nil(t, found.Offset)
}

func TestMalformedTextIsToldWhereItStopsBeingABatch(t *testing.T) {
	t.Parallel()
	for text, offset := range map[string]int64{
		"":                                0,
		" {}":                             1,
		"\xef\xbb\xbf[]":                  0,
		"[] x":                            3,
		"[]\n\t]":                         4,
		`[{"id":"a"},`:                    12,
		`[{"id":"a"},]`:                   11,
		`[{"id":"a"} {}]`:                 12,
		`[tru]`:                           4,
		"[\"é\",\"\xff\"]":                7,
		`[{"id":"a","id":1}]`:             11,
		nested(65):                        64,
		`[{"id":"a","x":"` + "\n" + `"}]`: 16,
	} {
		found := problem(t, text)
		assert.Equal(t, job.CodeInvalidJSON, found.Code, text)
		if assert.NotNil(t, found.Offset, text) {
			assert.Equal(t, offset, *found.Offset, text)
		}
	}
}

func TestFaultsOfRecordsAreNotToldOfATextThatIsNoBatch(t *testing.T) {
	t.Parallel()
	assert.Empty(t, problem(t, `[1,{"id":"\u0000"},`).Errors)
}
