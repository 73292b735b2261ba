package graph

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// streaming is what the two transports of streams have in common.
type streaming struct {
	keepAlive     time.Duration
	clientTimeout time.Duration
	closing       <-chan struct{}
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
