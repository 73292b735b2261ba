package auth

import (
	"fmt"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/sync/singleflight"
)

const (
	// rememberFor is how long a right credential is remembered after its last use.
	rememberFor = time.Minute
	// maxRemembered bounds the remembered credentials; the one unused for longest goes first.
	maxRemembered = 10_000
)

// fingerprint stands for a credential in memory: an HMAC-SHA256 under a key that lives as long as the process.
type fingerprint [32]byte

// compareFunc is the shape of [bcrypt.CompareHashAndPassword].
type compareFunc func(hash, password []byte) error

// users is the content of one users file and all that is remembered about it. It is replaced whole when the file
// changes, so that nothing verified against an old file can outlive it.
type users struct {
	entries map[string]entry
	cost    int // the highest cost in entries; what every failed check costs

	verified *expirable.LRU[fingerprint, time.Time] // when each was last used
	flights  singleflight.Group
}

func newUsers(entries map[string]entry) *users {
	cost := 0
	for _, e := range entries {
		cost = max(cost, e.cost)
	}
	if len(entries) == 0 {
		cost = Cost
	}
	// With no lifetime of its own this is a plain LRU whose constructor cannot fail; the clock is ours.
	return &users{entries: entries, cost: cost, verified: expirable.NewLRU[fingerprint, time.Time](maxRemembered, nil, 0)}
}

// check compares a credential with its entry. A failed check does the same amount of work for every name: an unknown
// one is compared with a decoy, and a hash of a lower cost is followed by decoys that make up the difference (a step in
// cost doubles the work, so costs c, c and c+1 add up to c+2).
func (u *users) check(c credential, compare compareFunc) bool {
	e, known := u.entries[c.name]
	if !known {
		e = entry{hash: decoy(u.cost), cost: u.cost}
	}
	if compare(e.hash, []byte(c.password)) == nil && known {
		return true
	}
	for cost := e.cost; cost < u.cost; cost++ {
		_ = compare(decoy(cost), []byte(c.password))
	}
	return false
}

// decoy is a well-formed bcrypt hash of a cost that is nobody's.
func decoy(cost int) []byte {
	return fmt.Appendf(nil, "$2a$%02d$%053d", cost, 0)
}

func (u *users) remembers(f fingerprint, now time.Time) bool {
	used, ok := u.verified.Get(f)
	if !ok || now.Sub(used) >= rememberFor {
		return false
	}
	u.verified.Add(f, now)
	return true
}

func (u *users) remember(f fingerprint, now time.Time) { u.verified.Add(f, now) }
