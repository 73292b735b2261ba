package graph

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/vektah/gqlparser/v2/ast"

	"fencepost/graph/generated"
	"fencepost/graph/guard"
	"fencepost/graph/transport"
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
	return newDoor(c, newServer(c.withDefaults()))
}

// newDoor leaves room for the largest payload as a variable: JSON text can need six characters for a byte (\u0022), and
// there are a document and a key beside it.
func newDoor(c Config, server http.Handler) http.Handler {
	const longestEscape, otherParts = 6, 64 << 10
	gate := transport.Gate(server, int64(c.Service.Limits().MaxPayloadBytes)*longestEscape+otherParts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, authenticated := auth.Owner(r.Context()); !authenticated {
			Unauthenticated.ServeHTTP(w, r)
			return
		}
		gate.ServeHTTP(w, r)
	})
}

// Unauthenticated answers a request that has no valid credentials, for the one who checks them.
var Unauthenticated = transport.Unauthenticated

// places are those for the WebSockets of each owner.
type places struct{ quota *feed.Quota }

// Take takes a place for the owner of a request, if there is one left.
func (p places) Take(ctx context.Context) bool {
	owner, _ := auth.Owner(ctx)
	return p.quota.Take(owner)
}

// Give gives it back.
func (p places) Give(ctx context.Context) {
	owner, _ := auth.Owner(ctx)
	p.quota.Give(owner)
}

// schemaInOneAnswer is the schema without the directive @defer, which gqlparser adds to every schema: the transports send one
// answer to a query, so the rest of it would never come.
func schemaInOneAnswer() *ast.Schema {
	schema := *generated.NewExecutableSchema(generated.Config{}).Schema()
	schema.Directives = maps.Clone(schema.Directives)
	delete(schema.Directives, "defer")
	return &schema
}

func newServer(c Config) *handler.Server {
	schema := generated.NewExecutableSchema(generated.Config{
		Schema:     schemaInOneAnswer(),
		Resolvers:  &Resolver{service: c.Service, limiter: c.Limiter, feed: c.Feed},
		Complexity: costs(),
	})
	server := handler.New(schema)
	errors := presenter{log: c.Log}
	transport.Install(server, transport.Streams{
		KeepAlive: c.KeepAlive, ClientTimeout: c.ClientTimeout, Closing: c.Closing,
		Places: places{c.WebSockets}, Failed: errors.failed,
	})
	guard.Install(server, schema)
	server.SetErrorPresenter(errors.present)
	server.SetRecoverFunc(recovered)
	server.AroundOperations(observeOperations(c.Observer))
	server.AroundOperations(limitTime(c.Timeout))
	server.AroundResponses(observeRefusals(c.Observer))
	server.AroundResponses(capErrors)
	server.AroundResponses(scopeEachAnswer(c.Service))
	server.AroundRootFields(aroundRoots(c.Service))
	server.AroundFields(writePlain)
	if c.Introspection {
		server.Use(extension.Introspection{})
	}
	return server
}
