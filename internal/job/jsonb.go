package job

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of what is stored. What is beyond them is refused at the door, since a job that can't be loaded must not be accepted, and a
// small text must not become a large row: numeric keeps 1e131071 with all of its digits.
const (
	// maxDigits are those of a number when it is written out in full.
	maxDigits = 1000
	// exponentBound is where PostgreSQL 15 stops reading an exponent, even that of a zero; later versions read one more.
	exponentBound = math.MaxInt32 / 2
	// maxTokens bounds the values, names and brackets of a batch, so that its jsonb stays below 256 MiB and its arrays
	// below the server's largest allocation: a token takes at most 16 bytes beside its text, which is at most 64 MiB.
	maxTokens = 1 << 23
	// maxGrowth and maxWritten bound the length of a batch as jsonb writes it: so many times the longest payload, and so many bytes.
	maxGrowth  = 16
	maxWritten = 256 << 20
	// separator is the length of ", " and ": ", of which one is counted behind each name and value.
	separator = 2
)

// fitsText reports whether jsonb holds an unquoted text: anything without the NUL character.
func fitsText(text []byte) bool { return bytes.IndexByte(text, 0) < 0 }

// writtenWord is how long jsonb writes a literal or a bracket, with its separator. Behind the last child of an array or object there is
// none, so the closing bracket takes that back.
func writtenWord(kind jsontext.Kind, hasChildren bool) int {
	switch kind {
	case jsontext.KindNull, jsontext.KindTrue:
		return len("null") + separator
	case jsontext.KindFalse:
		return len("false") + separator
	case jsontext.KindBeginArray, jsontext.KindBeginObject:
		return 1 + separator
	default:
		if hasChildren {
			return 1 - separator
		}
		return 1
	}
}

// writtenString is how long jsonb writes a string, given as the client wrote it and unquoted. Without escapes both are the same.
func writtenString(raw, text []byte) int {
	const quotes = 2
	length := len(text) + quotes
	if length == len(raw) {
		return length
	}
	for _, c := range text {
		switch {
		case strings.IndexByte("\"\\\b\f\n\r\t", c) >= 0:
			length += len(`\n`) - 1
		case c < ' ':
			length += len(`\u0001`) - 1
		}
	}
	return length
}

// numeric is how PostgreSQL's type of that name writes a number out in full.
type numeric struct {
	negative bool
	// whole and fraction are the digits on either side of the point.
	whole, fraction int
}

// parseNumeric reads a JSON number; ok is false when its exponent is beyond what PostgreSQL reads. Trailing zeros of a fraction count, as
// PostgreSQL keeps them; of a zero, neither the sign nor the size of the exponent matters.
func parseNumeric(number string) (n numeric, ok bool) {
	unsigned := strings.TrimPrefix(number, "-")
	mantissa, exponent, ok := splitExponent(unsigned)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n.whole, n.fraction = 1, max(0, len(fraction)-exponent)
	if significant := strings.TrimLeft(whole+fraction, "0"); significant != "" {
		n.whole = max(1, len(significant)-len(fraction)+exponent)
		n.negative = len(unsigned) < len(number)
	}
	return n, ok
}

// length counts the sign and the point too.
func (n numeric) length() int {
	length := n.whole + n.fraction
	if n.negative {
		length += len("-")
	}
	if n.fraction > 0 {
		length += len(".")
	}
	return length
}

// splitExponent takes a number apart; ok is false when the exponent is beyond what PostgreSQL reads.
func splitExponent(number string) (mantissa string, exponent int, ok bool) {
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return number, 0, true
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return number[:i], exponent, err == nil && -exponentBound < exponent && exponent < exponentBound
}
