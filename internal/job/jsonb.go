package job

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// The bounds of PostgreSQL's jsonb and numeric. What is beyond them is refused at the door, since a job that can't be
// loaded must not be accepted. (https://www.postgresql.org/docs/current/datatype-json.html, …/datatype-numeric.html)
const (
	// maxWholeDigits and maxFractionDigits are the digits that numeric has room for on either side of the point.
	maxWholeDigits    = 131072
	maxFractionDigits = 16383
	// exponentBound is where PostgreSQL 15 stops reading an exponent, even that of a zero; later versions read one more.
	exponentBound = math.MaxInt32 / 2
	// maxTokens bounds the values, names and brackets of a batch, so that its jsonb stays below 256 MiB and its arrays
	// below the server's largest allocation: a token takes at most 16 bytes beside its text, which is at most 64 MiB.
	maxTokens = 1 << 23
)

// fitsText reports whether jsonb holds an unquoted text: anything without the NUL character.
func fitsText(text []byte) bool { return bytes.IndexByte(text, 0) < 0 }

// fitsNumeric reports whether numeric holds a JSON number exactly. Trailing zeros of a fraction count, as PostgreSQL
// keeps them; the size of an exponent does not matter when the value is zero.
func fitsNumeric(number string) bool {
	mantissa, exponent, ok := splitExponent(strings.TrimPrefix(number, "-"))
	whole, fraction, _ := strings.Cut(mantissa, ".")
	significant := strings.TrimLeft(whole+fraction, "0")
	wholeDigits := len(significant) - len(fraction) + exponent
	return ok && len(fraction)-exponent <= maxFractionDigits && (significant == "" || wholeDigits <= maxWholeDigits)
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
