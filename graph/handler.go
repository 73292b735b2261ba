package graph

import (
	"context"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"

	"fencepost/graph/generated"
	"fencepost/internal/auth"
	"fencepost/internal/feed"
	"fencepost/internal/job"
)

// Config is what the GraphQL door needs.
type Config struct {
	// Service does the work.
	Service *job.Service
	// Limiter bounds the writes of each owner. Every mutation field counts as one, not the request.
	Limiter Limiter
	// Feed tells the subscriptions what has changed.
	Feed *feed.Hub
	// WebSockets bounds the open WebSockets, each of which may carry 100 operations at a time.
	WebSockets *feed.Quota
	// KeepAlive is how often a silent stream gets a sign of life; 0 means 15 seconds.
	KeepAlive time.Duration
	// ClientTimeout is how long the client of a stream may take to introduce itself, to send the rest of a message and to
	// take what is written; 0 means 10 seconds.
	ClientTimeout time.Duration
	// Closing is closed when the server stops: every stream then ends, in a way that makes its client connect again. Nil
	// means never.
	Closing <-chan struct{}
	// Introspection lets clients read the schema.
	Introspection bool
	// Timeout bounds one query or mutation; 0 means 10 seconds.
	Timeout time.Duration
	// Observer is told of each operation; nil means that nobody is.
	Observer Observer
	// Log receives what went wrong inside; nil means the default logger.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = 15 * time.Second
	}
	if c.ClientTimeout == 0 {
		c.ClientTimeout = 10 * time.Second
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// NewHandler makes the handler of /graphql. It expects the request's owner in the context (see [auth.WithOwner]) and answers
// with [Unauthenticated] when there is none.
func NewHandler(c Config) http.Handler {
	return newGate(c, newServer(c.withDefaults()))
}

func newServer(c Config) *handler.Server {
	schema := generated.NewExecutableSchema(generated.Config{
		Schema:     schemaInOneAnswer(),
		Resolvers:  &Resolver{service: c.Service, limiter: c.Limiter, feed: c.Feed},
		Complexity: costs(),
	})
	server := handler.New(schema)
	streams := streaming{keepAlive: c.KeepAlive, clientTimeout: c.ClientTimeout, closing: c.Closing}
	errors := presenter{log: c.Log}
	server.AddTransport(socketTransport{streams, c.WebSockets, errors})
	server.AddTransport(eventTransport{streams})
	server.AddTransport(httpTransport{})
	documents := newDocumentCache()
	server.SetQueryCache(documents)
	server.SetDisableSuggestion(true)
	server.SetValidationRulesFn(validationRules)
	server.SetErrorPresenter(errors.present)
	server.SetRecoverFunc(recovered)
	server.Use(admission{schema, documents})
	server.AroundOperations(observeOperations(c.Observer))
	server.AroundOperations(limitTime(c.Timeout))
	server.AroundResponses(observeRefusals(c.Observer))
	server.AroundResponses(capErrors)
	server.AroundResponses(scopeEachAnswer(c.Service))
	server.AroundRootFields(scopeEachMutation(c.Service))
	server.AroundFields(writePlain)
	if c.Introspection {
		server.Use(extension.Introspection{})
	}
	return server
}

const (
	cachedDocuments       = 1000
	longestCachedDocument = 8 << 10
)

// documentCache remembers parsed documents, but no long one: it may hold a payload as a literal, and a thousand of those
// would fill the memory.
type documentCache struct{ *lru.LRU[*ast.QueryDocument] }

func newDocumentCache() documentCache {
	return documentCache{lru.New[*ast.QueryDocument](cachedDocuments)}
}

// Add remembers a document unless it is long.
func (c documentCache) Add(ctx context.Context, query string, document *ast.QueryDocument) {
	if len(query) <= longestCachedDocument {
		c.LRU.Add(ctx, query, document)
	}
}

// gate refuses what is no GraphQL request before anything of it is read.
type gate struct {
	next    http.Handler
	maxBody int64
	origins *http.CrossOriginProtection
}

const allowedMethods = "GET, POST, OPTIONS"

// newGate leaves room for the largest payload as a variable: JSON text can need six characters for a byte (\u0022), and
// there are a document and a key beside it.
func newGate(c Config, next http.Handler) gate {
	const longestEscape, otherParts = 6, 64 << 10
	return gate{
		next:    next,
		maxBody: int64(c.Service.Limits().MaxPayloadBytes)*longestEscape + otherParts,
		origins: http.NewCrossOriginProtection(),
	}
}

func (g gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, authenticated := auth.Owner(r.Context()); !authenticated {
		Unauthenticated.ServeHTTP(w, r)
		return
	}
	setHeaders(w)
	if refused := g.check(r); refused != nil {
		w.Header().Set("Allow", allowedMethods)
		w.Header().Set("Accept-Post", typeJSON)
		refused.write(w, typeJSON)
		return
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", allowedMethods)
		w.Header().Set("Accept-Post", typeJSON)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, g.maxBody)
	g.next.ServeHTTP(w, r)
}

func (g gate) check(r *http.Request) *refusal {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodOptions:
		return &refusedMethod
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" || g.origins.Check(asUnsafe(r)) != nil:
		return &refusedCrossSite
	case r.Method == http.MethodPost && !jsonBody(r.Header):
		return &refusedMediaType
	case r.ContentLength > g.maxBody:
		return &refusedSize
	default:
		return nil
	}
}

// asUnsafe makes the request for a WebSocket one that must come from the server's own pages: a browser lets the pages of
// other sites open one, and read it.
func asUnsafe(r *http.Request) *http.Request {
	if !wantsWebSocket(r) {
		return r
	}
	unsafe := *r
	unsafe.Method = http.MethodPost
	return &unsafe
}

// jsonBody wants application/json in UTF-8, in one header line and without a content encoding. No form of a web page can
// send that type, which keeps other sites from sending mutations with a browser's credentials.
func jsonBody(h http.Header) bool {
	lines := h.Values("Content-Type")
	if len(lines) != 1 || h.Get("Content-Encoding") != "" {
		return false
	}
	mediaType, parameters, err := mime.ParseMediaType(lines[0])
	charset, given := parameters["charset"]
	return err == nil && mediaType == typeJSON && (!given || strings.EqualFold(charset, "utf-8"))
}
