package job

import (
	"bytes"
	"math"
	"strconv"
	"strings"
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
	// besides is the most that is written beside a token's own text: a point, a sign, and a separator with its space.
	besides = 4
)

// fitsText reports whether jsonb holds an unquoted text: anything without the NUL character.
func fitsText(text []byte) bool { return bytes.IndexByte(text, 0) < 0 }

// digits counts those of a JSON number when numeric writes it out in full; they are more than [maxDigits] where it can't. Trailing zeros of
// a fraction count, as PostgreSQL keeps them; the size of an exponent does not matter when the value is zero.
func digits(number string) int {
	mantissa, exponent, ok := splitExponent(strings.TrimPrefix(number, "-"))
	if !ok {
		return math.MaxInt
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	leading := strings.TrimLeft(whole+fraction, "0")
	wholeDigits := 1
	if leading != "" {
		wholeDigits = max(1, len(leading)-len(fraction)+exponent)
	}
	return wholeDigits + max(0, len(fraction)-exponent)
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
