package graph

import (
	"cmp"
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"fencepost/internal/job"
)

// Observer is told how operations went, for metrics and traces.
type Observer interface {
	// OperationBegan is called at the start of each operation with its kind: "query", "mutation" or "subscription", or "none"
	// when the document was refused before that was known. The operation runs in the context that it returns. At the end of
	// it, which for a subscription is the end of its stream, end is called once, with the code of the first problem or error
	// in its answers: one of the problem codes or of [ErrorCodes], or "" when there was none.
	OperationBegan(ctx context.Context, kind string) (_ context.Context, end func(code string))
}

// unobserved is told in vain.
type unobserved struct{}

func (unobserved) OperationBegan(ctx context.Context, _ string) (context.Context, func(string)) {
	return ctx, func(string) {}
}

// noted is the first code of an operation that runs. Answers come one by one, and so do the fields of a mutation.
type noted struct{ code string }

type notedKey struct{}

func (n *noted) note(code string) { n.code = cmp.Or(n.code, code) }

// noteProblem remembers the refusal of a write, which no error tells of.
func noteProblem(ctx context.Context, code job.Code) {
	if n, running := ctx.Value(notedKey{}).(*noted); running {
		n.note(string(code))
	}
}

// observeOperations tells of what is executed.
func observeOperations(o Observer) graphql.OperationMiddleware {
	return func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		kind := graphql.GetOperationContext(ctx).Operation.Operation
		ctx, tell := o.OperationBegan(ctx, string(kind))
		n := &noted{}
		end := sync.OnceFunc(func() { tell(n.code) })
		respond := next(context.WithValue(ctx, notedKey{}, n))
		return func(ctx context.Context) *graphql.Response {
			response := respond(ctx)
			n.note(firstCode(response))
			if kind != ast.Subscription || response == nil || response.Data == nil {
				end()
			}
			return response
		}
	}
}

// observeRefusals tells of documents that are not executed.
func observeRefusals(o Observer) graphql.ResponseMiddleware {
	return func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		response := next(ctx)
		if ctx.Value(notedKey{}) == nil {
			_, end := o.OperationBegan(ctx, kindOf(graphql.GetOperationContext(ctx)))
			end(firstCode(response))
		}
		return response
	}
}

func kindOf(op *graphql.OperationContext) string {
	if op.Operation == nil {
		return "none"
	}
	return string(op.Operation.Operation)
}

// firstCode is the code of an answer's first error: that of its problem when it is about one.
func firstCode(response *graphql.Response) string {
	if response == nil || len(response.Errors) == 0 {
		return ""
	}
	extensions := response.Errors[0].Extensions
	problem, _ := extensions["errorCode"].(string)
	code, _ := extensions["code"].(string)
	return cmp.Or(problem, code)
}
