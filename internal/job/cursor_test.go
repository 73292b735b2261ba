package job

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestACursorLeadsBackToItsPosition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		position := Position{
			Generation: rapid.IntRange(0, MaxGeneration).Draw(t, "generation"),
			ID:         uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
		}
		scope := lineageScope(newID())
		decoded, err := scope.decode(scope.encode(position))
		require.NoError(t, err)
		assert.Equal(t, position, decoded)
	})
}

func TestAnEmptyCursorIsTheBeginning(t *testing.T) {
	t.Parallel()
	position, err := jobsScope(Filter{}).decode("")
	require.NoError(t, err)
	assert.Equal(t, Position{}, position)
}

// scopes are all different lists.
func scopes() []cursorScope {
	yes, no := true, false
	early := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	late := early.Add(time.Microsecond)
	id := newID()
	filters := []Filter{
		{},
		{Statuses: []Status{StatusFailed}},
		{Statuses: []Status{StatusFailed, StatusCancelled}},
		{Replay: &yes},
		{Replay: &no},
		{Unresolved: &yes},
		{Unresolved: &no},
		{CreatedAfter: &early},
		{CreatedAfter: &late},
		{CreatedBefore: &early},
		{CreatedBefore: &late},
		{Replay: &yes, Unresolved: &yes},
	}
	all := []cursorScope{replaysScope(id), replaysScope(newID()), lineageScope(id), lineageScope(newID())}
	for _, f := range filters {
		all = append(all, jobsScope(f))
	}
	return all
}

func TestACursorIsBoundToItsListAndFilters(t *testing.T) {
	t.Parallel()
	all := scopes()
	for i, from := range all {
		cursor := from.encode(Position{Generation: 1, ID: newID()})
		for j, to := range all {
			_, err := to.decode(cursor)
			if i == j {
				require.NoError(t, err, to)
			} else {
				require.Equal(t, Refuse(CodeInvalidPageRequest), err, "%s -> %s", from, to)
			}
		}
	}
}

func TestACursorOfAnAttemptLeadsBackToItAndToNoOtherList(t *testing.T) {
	t.Parallel()
	id := newID()
	scope := attemptsScope(id)
	for _, outcome := range AttemptOutcomes {
		a := Attempt{Number: 300, Outcome: outcome}
		decoded, err := scope.decodeAttempt(scope.encodeAttempt(a))
		require.NoError(t, err)
		require.Equal(t, a, decoded)
	}
	none, err := scope.decodeAttempt("")
	require.NoError(t, err)
	require.Zero(t, none)
	good := Attempt{Number: 1, Outcome: AttemptRetried}
	for _, wrong := range []string{
		"!", "AAAA", lineageScope(id).encode(Position{}), attemptsScope(newID()).encodeAttempt(good), scope.encodeAttempt(Attempt{Number: 1, Outcome: "other"}),
		scope.encodeAttempt(Attempt{Number: 1 << 31, Outcome: AttemptRetried}), scope.encodeAttempt(good)[:17] + "B",
	} {
		_, err := scope.decodeAttempt(wrong)
		require.Equal(t, Refuse(CodeInvalidPageRequest), err, wrong)
	}
}

func TestTheSameInstantIsTheSameFilter(t *testing.T) {
	t.Parallel()
	utc := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	elsewhere := utc.In(time.FixedZone("", 3600))
	assert.Equal(t, jobsScope(Filter{CreatedAfter: &utc}), jobsScope(Filter{CreatedAfter: &elsewhere}))
}

func TestACursorHasOneSpelling(t *testing.T) {
	t.Parallel()
	scope := jobsScope(Filter{})
	// The last of the 34 characters carries 2 bits that must be zero.
	cursor := scope.encode(Position{})
	require.Len(t, cursor, 34)
	for _, text := range []string{
		cursor[:33] + "B", cursor + "=", cursor + "==", cursor + "\n", " " + cursor,
		cursor[:33], cursor + "A", cursor + "AAAA", cursor[:30], "!", "null",
	} {
		_, err := scope.decode(text)
		require.Equal(t, Refuse(CodeInvalidPageRequest), err, text)
	}
}
