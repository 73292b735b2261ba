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

// A cursor is opaque to clients: the place of a page's last job or attempt, behind a tag of the list that it belongs to, so that
// a cursor can't be carried over to another list or other filters.
const (
	cursorTagSize = 8
	positionSize  = 1 + len(uuid.UUID{})
	attemptSize   = 1 + 4
	cursorSize    = cursorTagSize + positionSize // of the longest
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

// seal is the cursor of a place in the list, as bytes.
func (s cursorScope) seal(place []byte) string {
	raw := append(make([]byte, 0, cursorSize), s[:]...)
	return cursorEncoding.EncodeToString(append(raw, place...))
}

// open reads the place of so many bytes out of a cursor of this very list. It must lead back to the cursor, which refuses those of other
// lists, and base64 that is spelled in another way (stray bits, line breaks).
func (s cursorScope) open(cursor string, size int) (place []byte, err error) {
	raw, err := cursorEncoding.DecodeString(cursor)
	if err != nil || len(raw) != cursorTagSize+size || s.seal(raw[cursorTagSize:]) != cursor {
		return nil, Refuse(CodeInvalidPageRequest)
	}
	return raw[cursorTagSize:], nil
}

func (s cursorScope) encode(p Position) string {
	var place [positionSize]byte
	place[0] = byte(p.Generation) //nolint:gosec // at most MaxGeneration
	copy(place[1:], p.ID[:])
	return s.seal(place[:])
}

// decode reads the cursor of a job; an empty one is the beginning.
func (s cursorScope) decode(cursor string) (Position, error) {
	if cursor == "" {
		return Position{}, nil
	}
	place, err := s.open(cursor, positionSize)
	if err != nil {
		return Position{}, err
	}
	return Position{Generation: int(place[0]), ID: uuid.UUID(place[1:])}, nil
}

// encodeAttempt is the cursor of an attempt: its outcome and its number.
func (s cursorScope) encodeAttempt(a Attempt) string {
	var place [attemptSize]byte
	place[0] = byte(slices.Index(AttemptOutcomes, a.Outcome)) //nolint:gosec // one of a few
	binary.BigEndian.PutUint32(place[1:], uint32(a.Number))   //nolint:gosec // from 1 on
	return s.seal(place[:])
}

// decodeAttempt is to encodeAttempt as decode is to encode.
func (s cursorScope) decodeAttempt(cursor string) (Attempt, error) {
	if cursor == "" {
		return Attempt{}, nil
	}
	place, err := s.open(cursor, attemptSize)
	if err != nil {
		return Attempt{}, err
	}
	number := int(binary.BigEndian.Uint32(place[1:]))
	if int(place[0]) >= len(AttemptOutcomes) || number > math.MaxInt32 {
		return Attempt{}, Refuse(CodeInvalidPageRequest)
	}
	return Attempt{Number: number, Outcome: AttemptOutcomes[place[0]]}, nil
}
