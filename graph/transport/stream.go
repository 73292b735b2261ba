package transport

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Streams is what the two transports of streams need.
type Streams struct {
	// KeepAlive is how often a silent stream gets a sign of life.
	KeepAlive time.Duration
	// ClientTimeout is how long a client may take to introduce itself, to send the rest of a message and to take what is
	// written.
	ClientTimeout time.Duration
	// Closing is closed when the server stops, so that every stream ends; nil means never.
	Closing <-chan struct{}
	// Places bounds the open WebSockets.
	Places Places
	// Failed makes an error of a panic outside of the resolvers.
	Failed func(ctx context.Context, cause any) *gqlerror.Error
}

// Places are how many WebSockets may be open at a time, for the user whom a request's context names.
type Places interface {
	// Take takes a place, and reports whether there was one.
	Take(ctx context.Context) bool
	// Give gives a place back.
	Give(ctx context.Context)
}

// Install makes a server speak all transports. The first that fits a request takes it.
func Install(server *handler.Server, streams Streams) {
	server.AddTransport(socketTransport{streams})
	server.AddTransport(eventTransport{streams})
	server.AddTransport(httpTransport{})
}

// dispatch executes an operation. Its answers come one by one, and nil behind the last of them. A refused document is an
// answer as well.
func dispatch(
	ctx context.Context, exec graphql.GraphExecutor, op *graphql.OperationContext, refused gqlerror.List,
) (graphql.ResponseHandler, context.Context) {
	if refused == nil {
		return exec.DispatchOperation(ctx, op)
	}
	ctx = graphql.WithOperationContext(ctx, op)
	return graphql.OneShot(exec.DispatchError(ctx, refused)), ctx
}
