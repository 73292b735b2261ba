package job

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is the deepest accepted nesting; the batch's own array is level 1.
const maxDepth = 64

// errNotABatch stands for the defects that the JSON grammar itself does not know.
var errNotABatch = errors.New("not one UTF-8 array of at most 64 levels")

// batchReader reads a batch in one pass. Only what makes the text no batch at all is an error, and the first one ends the
// reading. The fault of a record is merely noted, so that a defect of the text further on still comes first.
type batchReader struct {
	dec *jsontext.Decoder
	err error
	// records and tokens count what was read so far.
	records, tokens int
	// faulty reports that some record breaks a rule.
	faulty bool
	// text is the string or name that was read last.
	text []byte
}

// readBatch reads a whole text: one array of records and nothing behind it.
func readBatch(text []byte) *batchReader {
	if !utf8.Valid(text) {
		return &batchReader{err: errNotABatch}
	}
	// What is left of invalid UTF-8 are escapes of lone surrogates: the fault of a record, not of the text.
	b := &batchReader{dec: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))}
	b.open(jsontext.KindBeginArray)
	for b.more(jsontext.KindEndArray) {
		b.record()
		b.records++
	}
	b.token()
	b.end()
	return b
}

// verdict names the worst of what was found, or is "" when the batch is fine.
func (b *batchReader) verdict(limits Limits) Code {
	switch {
	case b.err != nil:
		return CodeInvalidJSON
	case b.records > limits.MaxBatchRecords:
		return CodeBatchTooLarge
	case b.faulty || b.tokens > maxTokens:
		return CodeInvalidRecord
	default:
		return ""
	}
}

// record reads one element of the batch, which should be an object with a valid id.
func (b *batchReader) record() {
	if b.dec.PeekKind() != jsontext.KindBeginObject {
		b.require(false)
		b.value()
		return
	}
	b.token()
	identified := false
	for b.more(jsontext.KindEndObject) {
		b.token()
		isID := string(b.text) == "id" && b.dec.PeekKind() == jsontext.KindString
		b.value()
		identified = identified || isID && validRecordID(string(b.text))
	}
	b.token()
	b.require(identified)
}

// value reads one value with all that is in it.
func (b *batchReader) value() {
	depth := b.dec.StackDepth()
	b.token()
	for b.err == nil && b.dec.StackDepth() > depth {
		b.token()
	}
}

// token reads one token: a string, a name, a number, a literal or a bracket.
func (b *batchReader) token() {
	if b.err != nil {
		return
	}
	b.tokens++
	switch b.dec.PeekKind() {
	case jsontext.KindString:
		b.string()
	case jsontext.KindNumber:
		b.number()
	default:
		_, b.err = b.dec.ReadToken()
		if b.dec.StackDepth() > maxDepth {
			b.err = errNotABatch
		}
	}
}

func (b *batchReader) string() {
	var raw jsontext.Value
	raw, b.err = b.dec.ReadValue()
	text, err := jsontext.AppendUnquote(b.text[:0], raw)
	b.text = text
	b.require(err == nil && fitsText(text))
}

func (b *batchReader) number() {
	var raw jsontext.Value
	raw, b.err = b.dec.ReadValue()
	b.require(fitsNumeric(string(raw)))
}

// open reads the bracket that the text must begin with.
func (b *batchReader) open(bracket jsontext.Kind) {
	if b.dec.PeekKind() != bracket {
		b.err = errNotABatch
	}
	b.token()
}

// more reports whether something else than the end of the array or object follows.
func (b *batchReader) more(end jsontext.Kind) bool { return b.err == nil && b.dec.PeekKind() != end }

// end requires that nothing follows but white space.
func (b *batchReader) end() {
	if _, err := b.dec.ReadToken(); b.err == nil && !errors.Is(err, io.EOF) {
		b.err = errNotABatch
	}
}

// require notes a fault unless a rule is kept.
func (b *batchReader) require(kept bool) { b.faulty = b.faulty || !kept }
