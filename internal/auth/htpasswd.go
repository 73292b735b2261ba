package auth

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"
)

const (
	// Cost is the bcrypt cost of the hashes that [Add] writes.
	Cost = 10
	// maxCost is the highest bcrypt cost accepted in a users file. One check at this cost takes seconds; a higher one
	// would be a mistake that stops everybody.
	maxCost = 16
	// maxNameBytes bounds a user's name, in bytes of UTF-8.
	maxNameBytes = 255
	// maxPasswordBytes is where bcrypt stops reading. Longer passwords are refused, never cut.
	maxPasswordBytes = 72
)

// ErrInvalidName is returned for a name that cannot be a Basic user (RFC 7617) or an htpasswd entry.
var ErrInvalidName = errors.New("a name is 1 to 255 bytes of UTF-8 without a colon or control characters, " +
	"and does not start with #")

var (
	errInvalidHash   = fmt.Errorf("not a bcrypt hash ($2a$, $2b$ or $2y$) of cost %d to %d", bcrypt.MinCost, maxCost)
	errDuplicateName = errors.New("this name is already on a line above")
	errNoColon       = errors.New("not a name, a colon and a hash")
)

var bcryptHash = regexp.MustCompile(`^\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}$`)

// entry is one user's password hash and the bcrypt cost inside it.
type entry struct {
	hash []byte
	cost int
}

// parseEntries reads htpasswd text. Blank lines and lines that start with # say nothing. An error names the path and
// the line, never what stands on it.
func parseEntries(path, text string) (map[string]entry, error) {
	entries := map[string]entry{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = trimLineEnd(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := addEntry(entries, line); err != nil {
			return nil, fmt.Errorf("users file: %s:%d: %w", path, number, err)
		}
	}
	return entries, nil
}

func addEntry(entries map[string]entry, line string) error {
	name, hash, found := strings.Cut(line, ":")
	if !found {
		return errNoColon
	}
	if !validName(name) {
		return ErrInvalidName
	}
	if _, twice := entries[name]; twice {
		return errDuplicateName
	}
	cost, err := bcrypt.Cost([]byte(hash))
	if err != nil || cost > maxCost || !bcryptHash.MatchString(hash) {
		return errInvalidHash
	}
	entries[name] = entry{hash: []byte(hash), cost: cost}
	return nil
}

func trimLineEnd(line string) string { return strings.TrimRight(line, "\r\n") }

func validName(name string) bool {
	return name != "" && len(name) <= maxNameBytes && !strings.HasPrefix(name, "#") &&
		!strings.Contains(name, ":") && printable(name)
}

// printable reports whether text is UTF-8 without control characters, which RFC 7617 keeps out of both halves of a
// credential.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
