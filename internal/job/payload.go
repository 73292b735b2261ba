package job

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"fencepost/jobtype"
)

// Limits bound a batch before it is looked at.
type Limits struct {
	// MaxPayloadBytes is the longest accepted payload.
	MaxPayloadBytes int
	// MaxBatchRecords is the greatest accepted number of records.
	MaxBatchRecords int
}

// Payload is an accepted batch of records.
type Payload struct {
	// Bytes is the exact text that the client sent.
	Bytes []byte
	// Digest is the SHA-256 of Bytes. A replay must bring the same.
	Digest Hash
	// RecordCount is the number of records in the array.
	RecordCount int
}

// maxRecordID is the longest accepted record id, in code points.
const maxRecordID = 256

// ParsePayload checks a batch against the intake rules (contract section 2, "Bodies"). A text that is not one well-formed
// array is [CodeInvalidJSON], wherever the defect stands, and tells where. Only then is the batch judged: [CodeBatchTooLarge] when it
// has too many records, else [CodeInvalidRecord] when some break a rule, and tells which; and [CodePayloadTooLarge] when it would be
// too long as PostgreSQL's jsonb writes it.
func ParsePayload(text []byte, limits Limits) (Payload, error) {
	b := readBatch(text)
	if refusal := b.verdict(limits); refusal != nil {
		return Payload{}, refusal
	}
	return Payload{Bytes: text, Digest: sha256.Sum256(text), RecordCount: b.records}, nil
}

// judgeID tells what is wrong with an id, or "". Trimmed of Unicode White_Space, it is to be non-blank, not too long, and free of control
// and format characters and of line and paragraph separators.
func judgeID(id string) jobtype.RecordErrorCode {
	id = strings.TrimSpace(id)
	switch {
	case id == "":
		return jobtype.RecordIDBlank
	case utf8.RuneCountInString(id) > maxRecordID:
		return jobtype.RecordIDTooLong
	case strings.ContainsFunc(id, invisible):
		return jobtype.RecordIDUnprintable
	default:
		return ""
	}
}

func invisible(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// A Batch is an accepted payload taken apart by its records.
type Batch struct {
	text []byte
	ends []int // where each record ends
}

// SplitBatch takes an accepted payload apart.
func SplitBatch(payload []byte) Batch {
	b := Batch{text: payload}
	dec := jsontext.NewDecoder(bytes.NewBuffer(payload), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != jsontext.KindEndArray {
		if err = dec.SkipValue(); err == nil {
			b.ends = append(b.ends, int(dec.InputOffset()))
		}
	}
	return b
}

// Len is the number of records.
func (b Batch) Len() int { return len(b.ends) }

// First is a batch of the first records alone, byte for byte as they were sent.
func (b Batch) First(records int) []byte {
	if records == 0 {
		return []byte("[]")
	}
	end := b.ends[records-1]
	return append(b.text[:end:end], ']')
}
