package auth

import (
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
)

const (
	defaultMaxFailures   = 20
	defaultFailureWindow = time.Minute
	// maxClients bounds the clients that failures are counted for; the one silent for longest goes first.
	maxClients = 10_000
)

// attempts counts failed checks for each client in windows of time. An attempt counts as a failure from its beginning
// until it turns out right, so that many at once are not more than many in a row.
type attempts struct {
	limit  int // negative is no limit
	window time.Duration

	mu      sync.Mutex
	tallies *expirable.LRU[netip.Prefix, tally]
}

type tally struct {
	failures int
	since    time.Time
}

func newAttempts(limit int, window time.Duration) *attempts {
	return &attempts{limit: limit, window: window, tallies: expirable.NewLRU[netip.Prefix, tally](maxClients, nil, 0)}
}

// begin counts an attempt, or reports false when the client has used up its window.
func (a *attempts) begin(client netip.Prefix, now time.Time) bool {
	if a.limit < 0 {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t, known := a.tallies.Get(client)
	if !known || now.Sub(t.since) >= a.window {
		t = tally{since: now}
	}
	if t.failures >= a.limit {
		return false
	}
	t.failures++
	a.tallies.Add(client, t)
	return true
}

// forgive takes back an attempt that was no failure.
func (a *attempts) forgive(client netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, _ := a.tallies.Get(client)
	if t.failures--; t.failures > 0 {
		a.tallies.Add(client, t)
		return
	}
	// A window begins with a failure, and a new one may have begun in between with nothing in it to take back.
	a.tallies.Remove(client)
}

// clientOf is the network a request came from: an IPv4 address, or the /64 of an IPv6 one, within which one client
// usually has all the addresses it likes. It reads the connection's address and no header, which a client could make
// up; behind a proxy, all clients are therefore the proxy. An address that is no IP is the zero prefix.
func clientOf(remoteAddr string) netip.Prefix {
	address, _ := netip.ParseAddrPort(remoteAddr)
	ip := address.Addr().Unmap()
	client, _ := ip.Prefix(min(ip.BitLen(), 64))
	return client
}
