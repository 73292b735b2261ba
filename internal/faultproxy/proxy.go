// Package faultproxy stands between a program and PostgreSQL and breaks their connections, for tests of faults. Only tests
// import it.
//
// It reads the frontend/backend protocol (PostgreSQL documentation, part VII) as far as it must to know which statements
// travel and where a transaction commits. So a test can hold a connection at an exact step, look at the database
// meanwhile, and then cut the connection or let it go on: nothing depends on timing.
package faultproxy

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// Proxy is a proxy before one server. Make one with [Start].
type Proxy struct {
	listener         net.Listener
	url              string
	network, address string // of the server
	running          sync.WaitGroup

	mu    sync.Mutex
	down  bool
	delay time.Duration
	links map[*link]struct{}
	armed []*Hold
}

// Start puts a proxy before the server of a connection URL, until the test ends. Its own side is TCP without TLS, and so
// must be that of the server, unless it is a Unix socket.
func Start(t testing.TB, server string) *Proxy {
	t.Helper()
	config, err := pgconn.ParseConfig(server)
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: listener, links: map[*link]struct{}{}}
	p.network, p.address = pgconn.NetworkAddress(config.Host, config.Port)
	p.url, err = through(server, listener.Addr().String())
	require.NoError(t, err)
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.Down()
		p.running.Wait()
	})
	return p
}

// through is a connection URL with another address in it.
func through(server, address string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("connection URL expected: %w", err)
	}
	u.Host = address
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// URL is the connection URL of the same database through the proxy.
func (p *Proxy) URL() string { return p.url }

// Open is the number of connections that the proxy carries now.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Down cuts every connection and hangs up on new ones, until [Proxy.Up].
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for l := range p.links {
		l.close()
	}
}

// Up ends what [Proxy.Down] began.
func (p *Proxy) Up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// Delay makes each round trip that begins from now on wait before it goes to the server.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

func (p *Proxy) currentDelay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if l := p.connect(client); l != nil {
			p.running.Go(l.carryRequests)
			p.running.Go(l.carryAnswers)
		}
	}
}

// connect returns nothing when the proxy is down or the server does not answer.
func (p *Proxy) connect(client net.Conn) *link {
	server, err := new(net.Dialer).DialContext(context.Background(), p.network, p.address)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		_ = client.Close()
		return nil
	}
	l := newLink(p, client, server)
	if p.down {
		l.close()
		return nil
	}
	p.links[l] = struct{}{}
	return l
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// take returns the first hold that waits for one of the statements, which then is not armed any more.
func (p *Proxy) take(statements []string) *Hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.armed, func(h *Hold) bool {
		return slices.ContainsFunc(statements, func(sql string) bool { return strings.Contains(sql, h.sql) })
	})
	if i < 0 {
		return nil
	}
	h := p.armed[i]
	p.armed = slices.Delete(p.armed, i, i+1)
	return h
}
