package auth

import (
	"bytes"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// fixture is an authenticator over a real file, with a clock to drive and a count of what bcrypt had to do.
type fixture struct {
	*Authenticator
	path string
	log  bytes.Buffer

	mu       sync.Mutex
	clock    time.Time
	compares int
	work     float64 // in key expansions: two to the power of each cost
}

func open(t *testing.T, text string, options Options) *fixture {
	t.Helper()
	f := &fixture{path: filepath.Join(t.TempDir(), "users"), clock: time.Unix(1_800_000_000, 0)}
	f.write(t, text)
	options.Log = slog.New(slog.NewJSONHandler(&f.log, nil))
	options.Now = f.time
	var err error
	f.Authenticator, err = Open(f.path, options)
	require.NoError(t, err)
	f.compare = f.count(f.compare)
	return f
}

func (f *fixture) count(compare compareFunc) compareFunc {
	return func(hash, password []byte) error {
		f.mu.Lock()
		f.compares++
		cost, _ := bcrypt.Cost(hash)
		f.work += math.Exp2(float64(cost))
		f.mu.Unlock()
		return compare(hash, password)
	}
}

func (f *fixture) time() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(d)
}

func (f *fixture) write(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(f.path, []byte(text), 0o600))
}

func (f *fixture) accepts(name, password string) bool {
	_, ok := f.Authenticate(request(name, password))
	return ok
}

// acceptsFrom is accepts for a connection from another address.
func (f *fixture) acceptsFrom(address, name, password string) bool {
	r := request(name, password)
	r.RemoteAddr = address
	_, ok := f.Authenticate(r)
	return ok
}

func request(name, password string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.SetBasicAuth(name, password)
	return r
}

// user is an htpasswd line with a cheap hash.
func user(name, password string) string { return userOfCost(name, password, bcrypt.MinCost) }

func userOfCost(name, password string, cost int) string {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	if err != nil {
		panic(err)
	}
	return name + ":" + string(hash) + "\n"
}
