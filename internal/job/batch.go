package job

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"fencepost/jobtype"
)

// maxDepth is the deepest accepted nesting; the batch's own array is level 1.
const maxDepth = 64

// maxRecordErrors is how many of them are told.
const maxRecordErrors = 20

// These stand for the defects that the JSON grammar itself does not know.
var (
	errNotABatch = errors.New("not one UTF-8 array")
	errTooDeep   = errors.New("more than 64 levels")
)

// batchReader reads a batch in one pass. Only what makes the text no batch at all is an error, and the first one ends the
// reading. The fault of a record is merely noted, so that a defect of the text further on still comes first.
type batchReader struct {
	source []byte
	dec    *jsontext.Decoder
	err    error
	// at is where it was found, if it is one of ours.
	at int64
	// records and tokens count what was read so far, and written the bytes that jsonb writes for it.
	records, tokens, written int
	// faults are what is wrong with records, of the first of them.
	faults []fault
	// text is the string or name that was read last.
	text []byte
}

// fault is what is wrong with one record, or with a member of it. Each is noted once, so that it is cheap to compare.
type fault struct {
	record int
	member string
	code   jobtype.RecordErrorCode
}

// tell says what is wrong by positions alone.
func tell(faults []fault) (told []jobtype.RecordError) {
	for _, f := range faults {
		told = append(told, jobtype.RecordError{Pointer: "/" + strconv.Itoa(f.record) + f.member, Code: f.code})
	}
	return told
}

// readBatch reads a whole text: one array of records and nothing behind it.
func readBatch(text []byte) *batchReader {
	b := &batchReader{source: text, written: -separator} // behind the batch itself there is none
	if valid := validPrefix(text); valid < len(text) {
		b.stop(int64(valid))
		return b
	}
	// What is left of invalid UTF-8 are escapes of lone surrogates: the fault of a record, not of the text.
	b.dec = jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	b.open(jsontext.KindBeginArray)
	for b.more(jsontext.KindEndArray) {
		if b.record(); b.err == nil {
			b.records++
		}
	}
	b.token()
	b.end()
	return b
}

// validPrefix is how long a text is UTF-8.
func validPrefix(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	valid := 0
	for r, size := utf8.DecodeRune(text); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(text[valid:]) {
		valid += size
	}
	return valid
}

// verdict is the refusal of the worst of what was found, or nil when the batch is fine.
func (b *batchReader) verdict(limits Limits) *Problem {
	switch {
	case b.err != nil:
		offset := b.offset()
		return &Problem{Code: CodeInvalidJSON, Errors: tell(b.defects()), Offset: &offset}
	case b.records > limits.MaxBatchRecords:
		return Refuse(CodeBatchTooLarge)
	case len(b.faults) > 0 || b.tokens > maxTokens:
		return &Problem{Code: CodeInvalidRecord, Errors: tell(b.faults)}
	case b.written > min(maxGrowth*limits.MaxPayloadBytes, maxWritten):
		return Refuse(CodePayloadTooLarge)
	default:
		return nil
	}
}

// offset is where the text stopped being a batch.
func (b *batchReader) offset() int64 {
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](b.err); ok {
		return syntactic.ByteOffset
	}
	return b.at
}

// defects are what made the text no batch, where it is in one record.
func (b *batchReader) defects() []fault {
	b.faults = nil
	switch {
	case errors.Is(b.err, jsontext.ErrDuplicateName):
		b.fault("", jobtype.RecordDuplicateMember)
	case errors.Is(b.err, errTooDeep):
		b.fault("", jobtype.RecordTooDeep)
	}
	return b.faults
}

// record reads one element of the batch, which should be an object with a valid id.
func (b *batchReader) record() {
	if b.dec.PeekKind() != jsontext.KindBeginObject {
		b.fault("", jobtype.RecordNotAnObject)
		b.value()
		return
	}
	b.token()
	id := jobtype.RecordMissingID
	for b.more(jsontext.KindEndObject) {
		b.token()
		isID, kind := string(b.text) == "id", b.dec.PeekKind()
		b.value()
		switch {
		case !isID:
		case kind == jsontext.KindString:
			id = judgeID(string(b.text))
		default:
			id = jobtype.RecordIDNotString
		}
	}
	b.token()
	if id != "" {
		b.fault("/id", id)
	}
}

// fault notes once what is wrong with the present record, or with a member of it.
func (b *batchReader) fault(member string, code jobtype.RecordErrorCode) {
	found := fault{b.records, member, code}
	if len(b.faults) < maxRecordErrors && !slices.Contains(b.faults, found) {
		b.faults = append(b.faults, found)
	}
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
	switch kind := b.dec.PeekKind(); kind {
	case jsontext.KindString:
		b.string()
	case jsontext.KindNumber:
		b.number()
	default:
		b.word(kind)
	}
}

// word reads a literal or a bracket.
func (b *batchReader) word(kind jsontext.Kind) {
	_, children := b.dec.StackIndex(b.dec.StackDepth())
	b.written += writtenWord(kind, children > 0)
	_, b.err = b.dec.ReadToken()
	if b.dec.StackDepth() > maxDepth {
		b.err, b.at = errTooDeep, b.dec.InputOffset()-1
	}
}

func (b *batchReader) string() {
	var raw jsontext.Value
	raw, b.err = b.dec.ReadValue()
	text, err := jsontext.AppendUnquote(b.text[:0], raw)
	b.text = text
	b.written += writtenString(raw, text) + separator
	if err != nil || !fitsText(text) {
		b.fault("", jobtype.RecordStringNotStorable)
	}
}

func (b *batchReader) number() {
	var raw jsontext.Value
	raw, b.err = b.dec.ReadValue()
	n, ok := parseNumeric(string(raw))
	if !ok || n.whole+n.fraction > maxDigits {
		b.fault("", jobtype.RecordNumberTooLarge)
		return
	}
	b.written += n.length() + separator
}

// open reads the bracket that the text must begin with.
func (b *batchReader) open(bracket jsontext.Kind) {
	if b.dec.PeekKind() != bracket {
		b.stop(b.next())
	}
	b.token()
}

// more reports whether something else than the end of the array or object follows.
func (b *batchReader) more(end jsontext.Kind) bool { return b.err == nil && b.dec.PeekKind() != end }

// end requires that nothing follows but white space.
func (b *batchReader) end() {
	if next := b.next(); b.err == nil && next < int64(len(b.source)) {
		b.stop(next)
	}
}

// next is where something else than white space follows.
func (b *batchReader) next() int64 {
	rest := b.source[b.dec.InputOffset():]
	return int64(len(b.source) - len(bytes.TrimLeft(rest, " \t\r\n")))
}

func (b *batchReader) stop(at int64) { b.err, b.at = errNotABatch, at }
