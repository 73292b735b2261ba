package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/semaphore"

	"fencepost/internal/job"
)

// Options adjusts an [Authenticator]. The zero value is right for most.
type Options struct {
	// MaxFailures is how many wrong credentials one client address may send in a window; 0 means 20, a negative number
	// no limit. Clients are told apart by the address of their connection, so behind a proxy they all count as one.
	MaxFailures int
	// FailureWindow is that window, from the first wrong credential on; 0 means a minute.
	FailureWindow time.Duration
	// Log receives what happens to the users file; nil means the default logger.
	Log *slog.Logger
	// Now is the clock; nil means the system's.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MaxFailures == 0 {
		o.MaxFailures = defaultMaxFailures
	}
	if o.FailureWindow == 0 {
		o.FailureWindow = defaultFailureWindow
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Authenticator checks Basic credentials against a users file. It is safe for concurrent use.
type Authenticator struct {
	file     *usersFile
	attempts *attempts
	slots    *semaphore.Weighted // how many bcrypt checks may run at once
	secret   []byte              // the key of the fingerprints
	compare  compareFunc
	now      func() time.Time
}

// Open reads the users file at path. A file that is missing or broken is an error that names the file and the line,
// never what stands on it. A file without users is fine and lets nobody in.
func Open(path string, options Options) (*Authenticator, error) {
	options = options.withDefaults()
	file, err := openUsersFile(path, options.Log, options.Now)
	if err != nil {
		return nil, err
	}
	return &Authenticator{
		file:     file,
		attempts: newAttempts(options.MaxFailures, options.FailureWindow),
		// Half of the processors, so that guesses never take the other half.
		slots:   semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2))),
		secret:  []byte(rand.Text()),
		compare: bcrypt.CompareHashAndPassword,
		now:     options.Now,
	}, nil
}

// Authenticate returns the owner that a request's credential stands for. It reports false, and nothing more, for a
// credential that is missing, malformed, of an unknown user or wrong, and for one that was not checked because its
// client has sent too many wrong ones.
func (a *Authenticator) Authenticate(r *http.Request) (job.Owner, bool) {
	c, ok := credentialOf(r)
	if !ok || !a.verify(r.Context(), claim{c, clientOf(r.RemoteAddr), a.fingerprint(c)}) {
		return job.Owner{}, false
	}
	return job.OwnerOf(c.name), true
}

// claim is a credential on its way to be checked, and where it came from.
type claim struct {
	credential  credential
	client      netip.Prefix
	fingerprint fingerprint
}

// verify answers from memory, or lets one of the concurrent requests that make this claim do the check for all.
func (a *Authenticator) verify(ctx context.Context, c claim) bool {
	known := a.file.current()
	if known.remembers(c.fingerprint, a.now()) {
		return true
	}
	// The client is part of the flight, so that one client's used-up window is not another's refusal.
	flight := string(c.fingerprint[:]) + c.client.String()
	for ctx.Err() == nil {
		right, err, _ := known.flights.Do(flight, func() (any, error) { return a.attempt(ctx, known, c) })
		if err == nil {
			return right.(bool)
		}
		// The request that did the check went away before its turn: if this one is still here, it takes over.
	}
	return false
}

// attempt does one bcrypt check when it is the client's and the processors' turn. The only error is ctx's.
func (a *Authenticator) attempt(ctx context.Context, known *users, c claim) (bool, error) {
	if known.remembers(c.fingerprint, a.now()) { // thanks to a flight that ended a moment ago
		return true, nil
	}
	if !a.attempts.begin(c.client, a.now()) {
		return false, nil
	}
	if err := a.slots.Acquire(ctx, 1); err != nil {
		a.attempts.forgive(c.client)
		return false, err
	}
	defer a.slots.Release(1)
	if !known.check(c.credential, a.compare) {
		return false, nil
	}
	a.attempts.forgive(c.client)
	known.remember(c.fingerprint, a.now())
	return true, nil
}

func (a *Authenticator) fingerprint(c credential) fingerprint {
	h := hmac.New(sha256.New, a.secret)
	h.Write([]byte(c.name + ":" + c.password)) // the first colon parts the two: a name has none
	return fingerprint(h.Sum(nil))
}
