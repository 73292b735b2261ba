package job

import (
	"regexp"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

var (
	keyForm = regexp.MustCompile(`^[ -~]{0,255}$`)
	idForm  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// A key is accepted exactly when it has the documented form, and means its own text.
func FuzzKey(f *testing.F) {
	for _, text := range []string{"", "k", " ", "~", `"a" \`, "a\n", "\x7f", "é", "k\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := ParseKey(text)
		if !keyForm.MatchString(text) {
			require.Equal(t, Refuse(CodeInvalidIdempotencyKey), err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, Key{text}, key)
		require.Equal(t, text == "", key.Missing())
	})
}

// A job is looked up under an id only when that is spelled as the service spells it, and the nil UUID is nobody's.
func FuzzID(f *testing.F) {
	for _, text := range []string{"", "x", uuid.Nil.String(), "0197c6e5-7b1f-7c3a-9d2e-4f5a6b7c8d9e", "urn:uuid:0197c6e5-7b1f-7c3a-9d2e-4f5a6b7c8d9e"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id := parseID(text)
		if idForm.MatchString(text) {
			require.Equal(t, text, id.String())
		} else {
			require.Equal(t, uuid.Nil, id)
		}
	})
}

// A cursor that is accepted is the one spelling of its position in its own list, and no other list accepts it.
func FuzzCursor(f *testing.F) {
	position := Position{Generation: 3, ID: uuid.MustParse("0197c6e5-7b1f-7c3a-9d2e-4f5a6b7c8d9e")}
	for _, list := range []string{"", "jobs", "replays x"} {
		f.Add(list, "")
		f.Add(list, "%%%")
		f.Add(list, newCursorScope(list).encode(position))
		f.Add(list, newCursorScope(list).encode(Position{})+"\n")
	}
	f.Fuzz(func(t *testing.T, list, cursor string) {
		scope := newCursorScope(list)
		decoded, err := scope.decode(cursor)
		if err != nil {
			require.Equal(t, Refuse(CodeInvalidPageRequest), err)
			require.Zero(t, decoded)
			return
		}
		if cursor == "" {
			require.Zero(t, decoded)
			return
		}
		require.Equal(t, cursor, scope.encode(decoded))
		_, err = newCursorScope(list + "another").decode(cursor)
		require.Equal(t, Refuse(CodeInvalidPageRequest), err)
	})
}
