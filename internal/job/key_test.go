package job

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAKeyIsPrintableASCIIOf1To255Characters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"k", " ", "~", `a "quoted" \ key`, strings.Repeat("k", 255)} {
		key, err := ParseKey(text)
		require.NoError(t, err, text)
		assert.False(t, key.Missing(), text)
	}
	for _, text := range []string{strings.Repeat("k", 256), "a\n", "\x00", "\x7f", "\x1f", "é", "k\xff"} {
		_, err := ParseKey(text)
		require.Equal(t, Refuse(CodeInvalidIdempotencyKey), err, "%q", text)
	}
}

func TestAnEmptyKeyIsAMissingOne(t *testing.T) {
	t.Parallel()
	key, err := ParseKey("")
	require.NoError(t, err)
	assert.True(t, key.Missing())
	assert.True(t, Key{}.Missing())
}

func TestTheSameTextIsAnotherKeyForEachOperationAndOwner(t *testing.T) {
	t.Parallel()
	key, id := Key{text: "k"}, newID()
	ann, bob := OwnerOf("ann"), OwnerOf("bob")
	hashes := map[Hash]string{
		submissionKeyHash(ann, key):            "submission",
		submissionKeyHash(bob, key):            "submission of another owner",
		submissionKeyHash(ann, Key{"l"}):       "submission under another key",
		replayKeyHash(ann, key):                "replay",
		replayKeyHash(bob, key):                "replay of another owner",
		replayKeyHash(ann, Key{"l"}):           "replay under another key",
		cancellationKeyHash(ann, id, key):      "cancellation",
		cancellationKeyHash(bob, id, key):      "cancellation of another owner",
		cancellationKeyHash(ann, newID(), key): "cancellation of another job",
		cancellationKeyHash(ann, id, Key{"l"}): "cancellation under another key",
		Hash(ann):                              "owner",
		Hash(bob):                              "another owner",
		sha256.Sum256([]byte("k")):             "plain text",
	}
	assert.Len(t, hashes, 13)
}

// TestStoredHashesStayTheSame pins the derivations: rows written by an earlier version must still be found.
func TestStoredHashesStayTheSame(t *testing.T) {
	t.Parallel()
	encoded := "\x00\x00\x00\x00\x00\x00\x00\x16fencepost/principal/v1" + "\x00\x00\x00\x00\x00\x00\x00\x03ann"
	assert.Equal(t, Owner(sha256.Sum256([]byte(encoded))), OwnerOf("ann"))
}

// TestNoTwoListsOfPartsRunTogether is what the length prefixes are for: the parts can be cut in one way only.
func TestNoTwoListsOfPartsRunTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "text")
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		other := rapid.IntRange(0, len(text)).Filter(func(n int) bool { return n != cut }).Draw(t, "other")
		one := domainHash("d", text[:cut], text[cut:])
		assert.NotEqual(t, one, domainHash("d", text[:other], text[other:]))
		assert.NotEqual(t, one, domainHash("d", text))
		assert.NotEqual(t, one, domainHash("e", text[:cut], text[cut:]))
		assert.Equal(t, one, domainHash("d", text[:cut], text[cut:]))
	})
}
