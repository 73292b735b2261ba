package job

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
)

// MaxPageSize is the greatest number of jobs on one page.
const MaxPageSize = 100

// A cursor is opaque to clients: the position of a page's last job, behind a tag of the list that it belongs to, so that
// a cursor can't be carried over to another list or other filters.
const (
	cursorTagSize = 8
	cursorSize    = cursorTagSize + 1 + len(uuid.UUID{})
)

var cursorEncoding = base64.RawURLEncoding

// cursorScope is the tag of one list: a hash of what it lists and how it is filtered.
type cursorScope [cursorTagSize]byte

func newCursorScope(list string) cursorScope {
	sum := sha256.Sum256([]byte(list))
	return cursorScope(sum[:cursorTagSize])
}

func jobsScope(f Filter) cursorScope {
	scope := fmt.Sprintf("jobs status=%q", f.Statuses)
	if f.Replay != nil {
		scope += fmt.Sprintf(" replay=%t", *f.Replay)
	}
	if f.Unresolved != nil {
		scope += fmt.Sprintf(" unresolved=%t", *f.Unresolved)
	}
	if f.CreatedAfter != nil {
		scope += fmt.Sprintf(" after=%d", f.CreatedAfter.UnixMicro())
	}
	if f.CreatedBefore != nil {
		scope += fmt.Sprintf(" before=%d", f.CreatedBefore.UnixMicro())
	}
	return newCursorScope(scope)
}

func replaysScope(source uuid.UUID) cursorScope { return newCursorScope("replays " + source.String()) }

func attemptsScope(id uuid.UUID) cursorScope { return newCursorScope("attempts " + id.String()) }

func lineageScope(id uuid.UUID) cursorScope { return newCursorScope("lineage " + id.String()) }

func (s cursorScope) encode(p Position) string {
	raw := append(make([]byte, 0, cursorSize), s[:]...)
	raw = append(raw, byte(p.Generation)) //nolint:gosec // at most MaxGeneration
	return cursorEncoding.EncodeToString(append(raw, p.ID[:]...))
}

// decode reads a cursor of this very list; an empty one is the beginning. The position must lead back to the cursor, which
// refuses those of other lists, and base64 that is spelled in another way (stray bits, line breaks).
func (s cursorScope) decode(cursor string) (Position, error) {
	if cursor == "" {
		return Position{}, nil
	}
	raw, err := cursorEncoding.DecodeString(cursor)
	if err != nil || len(raw) != cursorSize {
		return Position{}, Refuse(CodeInvalidPageRequest)
	}
	position := Position{Generation: int(raw[cursorTagSize]), ID: uuid.UUID(raw[cursorTagSize+1:])}
	if s.encode(position) != cursor {
		return Position{}, Refuse(CodeInvalidPageRequest)
	}
	return position, nil
}

// encodeAttempt is the cursor of an attempt: its outcome and its number, behind the tag.
func (s cursorScope) encodeAttempt(a Attempt) string {
	raw := append(s[:], byte(slices.Index(AttemptOutcomes, a.Outcome)))                        //nolint:gosec // one of a few
	return cursorEncoding.EncodeToString(binary.BigEndian.AppendUint32(raw, uint32(a.Number))) //nolint:gosec // from 1 on
}

// decodeAttempt is to encodeAttempt as decode is to encode.
func (s cursorScope) decodeAttempt(cursor string) (Attempt, error) {
	if cursor == "" {
		return Attempt{}, nil
	}
	raw, err := cursorEncoding.DecodeString(cursor)
	if err != nil || len(raw) != cursorTagSize+5 || int(raw[cursorTagSize]) >= len(AttemptOutcomes) {
		return Attempt{}, Refuse(CodeInvalidPageRequest)
	}
	number := int(binary.BigEndian.Uint32(raw[cursorTagSize+1:]))
	a := Attempt{Number: number, Outcome: AttemptOutcomes[raw[cursorTagSize]]}
	if s.encodeAttempt(a) != cursor || number > math.MaxInt32 {
		return Attempt{}, Refuse(CodeInvalidPageRequest)
	}
	return a, nil
}
