package job

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// Reasons are the codes by which a cancellation may say why: [CancellationByOwner] and those that the operator has listed. The zero
// Reasons are [CancellationByOwner] alone.
type Reasons struct{ listed []string }

// reasonForm is what PostgreSQL takes as a cancellation code too.
var reasonForm = regexp.MustCompile(`^[a-z][a-z0-9_]{2,63}$`)

var errBadReasons = errors.New("must be different codes such as wrong_batch,superseded: each a lower-case letter and 2 to 63 lower-case " +
	"letters, digits or underscores, without " + CancellationByOwner + ", which is always allowed")

// ParseReasons reads the operator's list: codes with commas between them, none of them twice. An empty text lists none.
func ParseReasons(text string) (Reasons, error) {
	var r Reasons
	if text == "" {
		return r, nil
	}
	for code := range strings.SplitSeq(text, ",") {
		if !reasonForm.MatchString(code) || slices.Contains(r.Codes(), code) {
			return Reasons{}, errBadReasons
		}
		r.listed = append(r.listed, code)
	}
	return r, nil
}

// Codes are all that is allowed, in the order of the operator's list.
func (r Reasons) Codes() []string { return append([]string{CancellationByOwner}, r.listed...) }

// choose is the code of the reason that a cancellation names; an empty text names none.
func (r Reasons) choose(named string) (string, error) {
	reason := cmp.Or(named, CancellationByOwner)
	if reason != CancellationByOwner && !slices.Contains(r.listed, reason) {
		return "", &Problem{Code: CodeInvalidCancellationReason, Allowed: r.Codes()}
	}
	return reason, nil
}
