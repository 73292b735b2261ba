package client

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

const (
	defaultBaseURL  = "http://127.0.0.1:8080"
	defaultPatience = 2 * time.Minute
	// attemptTimeout is longer than the 30 seconds that a server takes at most, so it only ends attempts that are lost.
	attemptTimeout = 40 * time.Second
)

// ErrPlaintext is why [New] refuses credentials for a server on another machine without TLS: they could be read on the way.
var ErrPlaintext = errors.New("credentials would be sent to another machine without encryption")

// Client calls one server as one user. It is safe for concurrent use. Make one with [New].
type Client struct {
	http           *http.Client
	base           *url.URL
	user, password string
	userAgent      string
	patience       time.Duration
	onRetry        func(err error, wait time.Duration)
}

// settings is what the options say.
type settings struct {
	Client
	baseURL   string
	plaintext bool
}

// Option changes how a [Client] works.
type Option func(*settings)

// WithBaseURL names the server, as "https://etl.example.com". It is http://127.0.0.1:8080 otherwise.
func WithBaseURL(base string) Option { return func(s *settings) { s.baseURL = base } }

// WithCredentials sets the user and the password for HTTP Basic authentication (RFC 7617).
func WithCredentials(user, password string) Option {
	return func(s *settings) { s.user, s.password = user, password }
}

// WithHTTPClient replaces the HTTP client, for instance to trust another certificate authority. Redirects are never
// followed, since the server sends none. The client's Timeout ends one attempt, not the whole call.
func WithHTTPClient(h *http.Client) Option { return func(s *settings) { s.http = h } }

// WithUserAgent names the program to the server (RFC 9110 section 10.1.5).
func WithUserAgent(name string) Option { return func(s *settings) { s.userAgent = name } }

// WithPatience sets how long one call may take with all of its attempts, when its context has no earlier deadline. It is
// two minutes otherwise. [Client.Watch], [Client.List] and [Client.Lineage] have it anew for each of their requests.
func WithPatience(d time.Duration) Option { return func(s *settings) { s.patience = d } }

// WithRetryNotice names a function that hears of each attempt that failed and will be repeated after wait.
func WithRetryNotice(notice func(err error, wait time.Duration)) Option {
	return func(s *settings) { s.onRetry = notice }
}

// WithPlaintext allows credentials without TLS to a server on another machine, for networks where something else
// encrypts. See [ErrPlaintext].
func WithPlaintext() Option { return func(s *settings) { s.plaintext = true } }

// New makes a client. It connects to nothing yet. It refuses a base URL that is none, and with [ErrPlaintext] one that
// would expose the credentials.
func New(options ...Option) (*Client, error) {
	s := settings{baseURL: defaultBaseURL, Client: Client{
		http:      &http.Client{Timeout: attemptTimeout},
		userAgent: "fencepost-client",
		patience:  defaultPatience,
		onRetry:   func(error, time.Duration) {},
	}}
	for _, option := range options {
		option(&s)
	}
	base, err := parseBaseURL(s.baseURL)
	if err != nil {
		return nil, err
	}
	if s.user != "" && base.Scheme == "http" && !s.plaintext && !loopback(base.Hostname()) {
		return nil, ErrPlaintext
	}
	s.base = base
	s.http = withoutRedirects(s.http)
	return &s.Client, nil
}

func parseBaseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, errors.New("the base URL must look like https://host or http://host:port")
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the base URL must have no user, query or fragment: credentials are an option of their own")
	}
	return base, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// withoutRedirects copies an HTTP client. Following a redirect could carry the credentials from https to http.
func withoutRedirects(h *http.Client) *http.Client {
	clone := *h
	clone.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &clone
}

// NewKey makes an idempotency key that nobody has used before: 26 random letters and digits.
func NewKey() string { return rand.Text() }
