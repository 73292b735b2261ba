package job

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/uuid"
)

// Hash is a SHA-256 value. Hashes never leave the service and its database.
type Hash [sha256.Size]byte

// Owner identifies an authenticated principal by a domain-separated hash of its name. Every read and write is scoped to
// one owner; the name itself is never stored.
type Owner Hash

// OwnerOf derives the owner of a principal's name.
func OwnerOf(principal string) Owner {
	return Owner(domainHash("fencepost/principal/v1", []byte(principal)))
}

// maxKeyLength is the longest accepted idempotency key, in characters.
const maxKeyLength = 255

// Key is an idempotency key as its client meant it: unescaped and without parameters. The zero Key stands for "no
// key", which every write refuses.
type Key struct{ text string }

// ParseKey checks a key's text: 1 to 255 printable ASCII characters, spaces allowed (RFC 9651 String, once unescaped).
// An empty text is the zero Key, without an error; anything else is [CodeInvalidIdempotencyKey].
func ParseKey(text string) (Key, error) {
	if len(text) > maxKeyLength {
		return Key{}, Refuse(CodeInvalidIdempotencyKey)
	}
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return Key{}, Refuse(CodeInvalidIdempotencyKey)
		}
	}
	return Key{text: text}, nil
}

// Missing reports whether no key was given.
func (k Key) Missing() bool { return k.text == "" }

// The identity that one key stands for has a hash domain an operation, so that the same text used for a submission, a
// cancellation and a replay is three different keys.

func submissionKeyHash(owner Owner, key Key) Hash {
	return domainHash("fencepost/submission-key/v1", owner[:], []byte(key.text))
}

func cancellationKeyHash(owner Owner, id uuid.UUID, key Key) Hash {
	return domainHash("fencepost/cancellation-key/v1", owner[:], id[:], []byte(key.text))
}

func replayKeyHash(owner Owner, key Key) Hash {
	return domainHash("fencepost/replay-key/v1", owner[:], []byte(key.text))
}

// domainHash hashes parts under a domain. Each part is preceded by its length, so that no two lists of parts can run
// together into the same input.
func domainHash(domain string, parts ...[]byte) Hash {
	h := sha256.New()
	for _, part := range append([][]byte{[]byte(domain)}, parts...) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
		h.Write(part)
	}
	return Hash(h.Sum(nil))
}
